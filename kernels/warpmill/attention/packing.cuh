// Which query and which head a group's rows belong to. Where a few queries of several heads that share keys are packed
// into a tile, a group's 64 rows are some queries of its first head, the same queries of the next one, and so on.
#pragma once

#include "warpmill/attention/arguments.h"
#include "warpmill/attention/plan.h"
#include "warpmill/types.cuh"

namespace wm {

template <AttentionPlan plan>
class Packing {
 public:
  WM_DEVICE explicit Packing(const AttentionArguments& args) : log2_(args.packed_log2) {}

  WM_DEVICE u32 queries() const { return plan.packed > 0 ? 1u << log2_ : plan.rows(); }  // of a tile, each head's
  WM_DEVICE u32 heads() const { return plan.packed > 0 ? plan.rows() >> log2_ : 1; }     // of a tile
  // From one group's first head to the next one's.
  WM_DEVICE u32 group_heads() const { return plan.packed > 0 ? plan.group_rows() >> log2_ : 0; }
  // Of a row of a group, from the group's first.
  WM_DEVICE u32 query_of(u32 row) const { return plan.packed > 0 ? row & ((1u << log2_) - 1) : row; }
  WM_DEVICE u32 head_of(u32 row) const { return plan.packed > 0 ? row >> log2_ : 0; }

 private:
  u32 log2_;
};

}  // namespace wm
