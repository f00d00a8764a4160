// Where a sequence lies among all queries and keys, and how long it is.
#pragma once

#include "warpmill/attention/arguments.h"
#include "warpmill/attention/plan.h"
#include "warpmill/types.cuh"

namespace wm {

struct Sequence {
  u32 queries, keys;           // its lengths
  u32 first_query, first_key;  // positions in the tensors
  u32 batch;                   // coordinate in the tensors
};

// Expressions ask which one it is, too, and so do scales.
struct NumberedSequence : Sequence {
  u32 number;
};
template <AttentionPlan plan>
inline constexpr bool numbered = plan.kind.expressions.any() || plan.kind.narrow();
template <AttentionPlan plan>
using SequenceOf = Select<numbered<plan>, NumberedSequence, Sequence>;

namespace detail {
template <AttentionPlan plan>
WM_DEVICE Sequence place_of(const AttentionArguments& args, u32 batch) {
  if constexpr (plan.kind.sequences) {
    const u32* const queries = reinterpret_cast<const u32*>(args.query_offsets) + batch;
    const u32* const keys = reinterpret_cast<const u32*>(args.key_offsets) + batch;
    return {queries[1] - queries[0], keys[1] - keys[0], queries[0], keys[0], 0};
  } else {
    u32 keys = args.keys;
    if constexpr (plan.kind.lengths) {
      const i32 own = reinterpret_cast<const i32*>(args.key_lengths)[batch];
      keys = min(keys, u32(max(own, 0)));
    }
    return {args.queries, keys, 0, 0, batch};
  }
}
}  // namespace detail

template <AttentionPlan plan>
WM_DEVICE SequenceOf<plan> sequence_of(const AttentionArguments& args, u32 batch) {
  if constexpr (numbered<plan>)
    return {detail::place_of<plan>(args, batch), batch};
  else
    return detail::place_of<plan>(args, batch);
}

}  // namespace wm
