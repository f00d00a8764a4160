// ALiBi: a score loses the slope of its head for each position between the key and the one opposite the query.
#pragma once

#include "warpmill/attention/scales.cuh"
#include "warpmill/attention/softmax.cuh"
#include "warpmill/attention/tiles.cuh"

namespace wm {

// Of one head and the queries of a group.
template <AttentionPlan plan>
class AlibiBias {
 public:
  AlibiBias() = default;
  WM_DEVICE AlibiBias(const AttentionArguments& args, const ScalesOf<plan>& scales, const Tile<plan>& tile,
                      u32 first_query)
      : slope_(reinterpret_cast<const f32*>(args.slopes)[tile.head] * scales.alibi_unit),
        scale_(scales.scale_log2),
        diagonal_(Sight<plan>::diagonal(args, tile.sequence, first_query)) {
    asm volatile("" : "+f"(slope_));  // read once, here
  }

  // Whether a step has keys behind the queries: from there to the diagonal every step's scores are larger than those of
  // the one before, and weights made without a look would mostly be made twice.
  WM_DEVICE bool rising(i32 step) const { return (step + 1) * plan.keys - 1 > diagonal_; }

  // To the scores of a step. Where all its keys lie on one side of the queries, the bias is one line for each row: what
  // is the same for all keys of it goes into the softmax as a shift, and a score takes one instruction. `Scores` are
  // what a thread has of the step: a Fragment, or a whole row.
  template <class Scores, class Softmax>
  WM_DEVICE void add(Scores& scores, i32 step, Softmax& softmax) const {
    const i32 first = step * plan.keys;
    f32 distance[Scores::halves];  // of the thread's first key, seen from each of its rows
    typename Softmax::Rows shift;
#pragma unroll
    for (int half = 0; half < Scores::halves; ++half)
      distance[half] = f32(first + i32(scores.column(0)) - diagonal_ - i32(scores.row_of_half(half)));
    const bool before = plan.kind.alibi == Alibi::before || first + plan.keys - 1 <= diagonal_;
    if (before || first >= diagonal_ + plan.group_rows() - 1) {
      const f32 slope = before ? slope_ : -slope_;
#pragma unroll
      for (int i = 0; i < scores.count; ++i) scores.value[i] = fmaf(slope, f32(scores.offset(i)), scores.value[i]);
#pragma unroll
      for (int half = 0; half < Scores::halves; ++half) shift.value[half] = slope * distance[half] * scale_;
    } else {
#pragma unroll
      for (int half = 0; half < Scores::halves; ++half) {
        distance[half] *= slope_;  // a bias now
        shift.value[half] = 0.f;
      }
#pragma unroll
      for (int i = 0; i < scores.count; ++i)
        scores.value[i] -= fabsf(fmaf(slope_, f32(scores.offset(i)), distance[scores.half(i)]));
    }
    softmax.shift(shift);
  }

 private:
  f32 slope_;  // in scores that are not scaled yet
  f32 scale_;
  i32 diagonal_;  // the key opposite the first query
};

}  // namespace wm
