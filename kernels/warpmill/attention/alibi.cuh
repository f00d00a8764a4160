// ALiBi: a score loses the slope of its head for each position between the key and the one opposite the query.
#pragma once

#include "warpmill/attention/softmax.cuh"
#include "warpmill/attention/tiles.cuh"

namespace wm {

// Of one head and the 64 queries of a group.
template <AttentionPlan plan>
class AlibiBias {
 public:
  AlibiBias() = default;
  WM_DEVICE AlibiBias(const AttentionArguments& args, const Tile<plan>& tile, u32 first_query)
      : slope_(reinterpret_cast<const f32*>(args.slopes)[tile.head] * args.alibi_unit),
        scale_(args.scale_log2),
        diagonal_(Sight<plan>::diagonal(args, tile.sequence, first_query)) {
    asm volatile("" : "+f"(slope_));  // read once, here
  }

  // Whether a step has keys behind the queries: from there to the diagonal every step's scores are larger than those of
  // the one before, and weights made without a look would mostly be made twice.
  WM_DEVICE bool rising(i32 step) const { return (step + 1) * plan.keys - 1 > diagonal_; }

  // To the scores of a step. Where all its keys lie on one side of the queries, the bias is one line for each row: what
  // is the same for all keys of it goes into the softmax as a shift, and a score takes one instruction.
  WM_DEVICE void add(Fragment<plan.keys>& scores, i32 step, Softmax<true>& softmax) const {
    const i32 first = step * plan.keys;
    f32 distance[2];  // of the thread's first key, seen from each of its rows
#pragma unroll
    for (int half = 0; half < 2; ++half)
      distance[half] = f32(first + i32(scores.column(0)) - diagonal_ - i32(scores.row(half * 2)));
    const bool before = plan.kind.alibi == Alibi::before || first + plan.keys - 1 <= diagonal_;
    if (before || first >= diagonal_ + plan.group_queries - 1) {
      const f32 slope = before ? slope_ : -slope_;
#pragma unroll
      for (int i = 0; i < scores.count; ++i) scores.value[i] = fmaf(slope, key(i), scores.value[i]);
      softmax.shift({slope * distance[0] * scale_, slope * distance[1] * scale_});
    } else {
      const f32 first_bias[2] = {slope_ * distance[0], slope_ * distance[1]};
#pragma unroll
      for (int i = 0; i < scores.count; ++i) scores.value[i] -= fabsf(fmaf(slope_, key(i), first_bias[scores.half(i)]));
      softmax.shift({0.f, 0.f});
    }
  }

 private:
  static constexpr f32 key(int i) { return f32(i / 4 * 8 + i % 2); }  // from the thread's first on

  f32 slope_;  // in scores that are not scaled yet
  f32 scale_;
  i32 diagonal_;  // the key opposite the first query
};

}  // namespace wm
