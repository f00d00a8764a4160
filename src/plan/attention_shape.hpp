// The sizes of an attention, for its planner.
#pragma once

#include <cstdint>

namespace wm::plan {

// `left` and `right` count where the kind's mask has them.
struct AttentionShape {
  std::int64_t batch = 1, heads = 1, kv_heads = 1;
  std::int64_t queries = 0, keys = 0;  // of a sequence; of the longest where they differ
  std::int64_t left = 0, right = 0;
  bool align_ends = true;
  bool operator==(const AttentionShape&) const = default;
};

}  // namespace wm::plan
