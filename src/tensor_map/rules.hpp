// The rules of tensor maps as a table: name, text, standing, and a check that gives the offending value and a way out.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tensor_map/fields.hpp"
#include "warpmill/error.hpp"
#include "warpmill/tensor_map.hpp"

namespace wm::tensor_map {

enum class Standing {
  enforced,  // the driver refuses the map, so it is refused here first
  noted,     // documented, but the driver accepts: a note in describe()
};

struct Finding {
  std::string what;  // "stride[0] = 6004 bytes is not a multiple of 16"
  std::string fix;   // "pad the inner dimension from 3002 to 3008 elements of bf16, ..."
};

struct Rule {
  std::string_view id;    // "stride-multiple"
  std::string_view text;  // "global strides are multiples of 16 bytes (...)"
  Standing standing;
  std::optional<Finding> (*check)(const TensorMapSpec& spec, const Architecture& arch);
  ErrorCode code = ErrorCode::invalid_argument;
};

struct Violation {
  const Rule* rule;
  Finding finding;
  std::string refusal() const;  // three lines: what, rule, fix
};

// In the order in which they are checked: a rule may rely on the enforced ones before it.
std::span<const Rule> rules();
const Rule& rule(std::string_view id);  // throws not_found

// The first enforced rule that the spec breaks.
std::optional<Violation> first_refusal(const TensorMapSpec& spec, const Architecture& arch);
// The noted rules that it breaks; empty where an enforced rule is broken.
std::vector<Violation> notes(const TensorMapSpec& spec, const Architecture& arch);

}  // namespace wm::tensor_map
