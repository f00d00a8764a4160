// The sizes of an attention, for its planner.
#pragma once

#include <cstdint>
#include <optional>

#include "warpmill/attention/kind.h"

namespace wm::plan {

// `left` and `right` count where the kind's mask has them.
struct AttentionShape {
  std::int64_t batch = 1, heads = 1, kv_heads = 1;
  std::int64_t queries = 0, keys = 0;  // of a sequence; of the longest where they differ
  std::int64_t left = 0, right = 0;
  bool align_ends = true;
  bool operator==(const AttentionShape&) const = default;
};

// A dimension's size and a mask's limit: the sum of both and of a tile's rows is a 32-bit number too.
constexpr std::int64_t most_positions = (1 << 30) - 1024;

// A mask as a kind has it. One with a limit to the left has one to the right too, beyond all keys where there is none,
// so that there are fewer kinds to compile.
struct MaskLimits {
  MaskFacts facts;
  std::int64_t left = 0, right = 0;
};
inline MaskLimits limits_of(const std::optional<std::int64_t>& left, const std::optional<std::int64_t>& right) {
  return {
      {.right = left || right, .left = left.has_value()}, left.value_or(0), right.value_or(left ? most_positions : 0)};
}

// The form of ALiBi where a query sees keys by this mask.
inline Alibi alibi_of(const MaskLimits& mask) {
  return mask.facts.right && mask.right == 0 ? Alibi::before : Alibi::both_sides;
}

}  // namespace wm::plan
