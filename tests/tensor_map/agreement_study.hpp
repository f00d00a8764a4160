// Do our rules and a driver accept the same tensor maps? Random maps, each disagreement shrunk to what causes it, and a
// table of probes that ask about one boundary at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "warpmill/tensor_map.hpp"

namespace wm::test {

using Oracle = std::function<bool(const TensorMapSpec&)>;  // whether the driver accepts

std::string one_line(const TensorMapSpec& spec);

// Disagreements of one kind: the rule of ours that refuses ("" where the driver refuses and we do not), and the fields
// that remain remarkable after shrinking.
struct Disagreement {
  std::string rule, fields;
  int count = 0;
  std::vector<TensorMapSpec> examples;  // shrunk; a few
};

struct RuleCount {
  int both_refuse = 0;  // this is the first rule broken, and the driver refuses too
  int alone = 0;        // of these: the only rule broken, so the driver must enforce it
  int driver_accepts = 0;
};

struct Study {
  int maps = 0, both_accept = 0, both_refuse = 0, we_refuse = 0, driver_refuses = 0;
  int tiled = 0, im2col = 0;
  std::map<std::string, RuleCount> rules;
  std::vector<Disagreement> disagreements;
};

Study study(const Oracle& driver, const Architecture& arch, int maps, std::uint64_t seed, std::uint64_t address);

// The smallest map we can find for which `keep` still holds.
TensorMapSpec shrink(TensorMapSpec spec, const std::function<bool(const TensorMapSpec&)>& keep);

struct Probe {
  std::string question, value;
  TensorMapSpec spec;
};
std::vector<Probe> probes(std::uint64_t address);

}  // namespace wm::test
