// What a launch must know of PTX text, found without reading its instructions: the target, and each entry's parameters.
// A cubin knows the parameters' sizes but not what they are, so the text beside it is asked.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "warpmill/architecture.hpp"
#include "warpmill/module.hpp"

namespace wm::runtime {

struct PtxEntry {
  std::string name;
  std::vector<Parameter> parameters;
  Dim3 required_block{0, 0, 0};  // .reqntid; zeros: none
};

struct PtxSummary {
  std::optional<Architecture> target;  // none where the text does not say, or names one that is not known here
  std::vector<PtxEntry> entries;
  const PtxEntry* find(std::string_view entry) const;
  // Says of parameters whose places are known what kind each is.
  void set_kinds(std::string_view entry, std::span<Parameter> parameters) const;
};

// Takes any text; what it does not understand it leaves out.
PtxSummary summarize(std::string_view ptx);

}  // namespace wm::runtime
