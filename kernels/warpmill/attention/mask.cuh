// Which keys the queries of a tile see: whole steps of them, and inside a step each by itself.
#pragma once

#include "warpmill/attention/arguments.h"
#include "warpmill/attention/lengths.cuh"
#include "warpmill/attention/packing.cuh"
#include "warpmill/tile/fragment.cuh"

namespace wm {

// The keys that queries `first` to `first + rows - 1` of a sequence see: for row r of them, from left(r) up to but not
// including right(r).
template <AttentionPlan plan>
class Sight {
 public:
  WM_DEVICE Sight(const AttentionArguments& args, const Sequence& sequence, u32 first, u32 rows)
      : packing_(args), keys_(sequence.keys), rows_(rows) {
    const i32 opposite = diagonal(args, sequence, first);
    left_ = plan.kind.mask.left ? opposite - args.left : 0;
    right_ = plan.kind.mask.right ? opposite + args.right + 1 : i32(keys_);
  }
  // The key opposite a query.
  static WM_DEVICE i32 diagonal(const AttentionArguments& args, const Sequence& sequence, u32 query) {
    return i32(query) + (args.align_ends ? i32(sequence.keys) - i32(sequence.queries) : 0);
  }
  // Beyond the sequence's ends nothing is seen.
  WM_DEVICE i32 left(u32 row) const { return plan.kind.mask.left ? left_ + i32(packing_.query_of(row)) : 0; }
  WM_DEVICE i32 right(u32 row) const {
    return plan.kind.mask.right ? min(right_ + i32(packing_.query_of(row)), keys_) : keys_;
  }

  // Steps of keys that any row sees: from begin() up to but not including end(), if that is more.
  WM_DEVICE i32 begin() const { return max(left(0), 0) / plan.keys; }
  WM_DEVICE i32 end() const { return (max(right(rows_ - 1), 0) + plan.keys - 1) / plan.keys; }
  WM_DEVICE bool any(i32 step) const {
    return (!plan.kind.mask.right || step < end()) && (!plan.kind.mask.left || step >= begin());
  }
  // Whether every row sees all keys of a step.
  WM_DEVICE bool whole(i32 step) const {
    return (step + 1) * plan.keys <= right(0) && (!plan.kind.mask.left || step * plan.keys >= left(rows_ - 1));
  }

  // Scores of keys that a row of these does not see become -infinity. `step` is the keys' number; `Scores` are what a
  // thread has of all of them: a Fragment, or a whole row.
  template <class Scores>
  WM_DEVICE void hide(Scores& scores, i32 step) const {
    const i32 first_key = step * plan.keys + i32(scores.column(0));
    // A window's ends are worked out anew for each step: kept over the loop of steps, those of each row would take
    // registers that are not there.
    Sight here = *this;
    if constexpr (plan.kind.mask.left) asm volatile("" : "+r"(here.left_), "+r"(here.right_));
#pragma unroll
    for (int half = 0; half < scores.halves; ++half) {
      const u32 row = scores.row_of_half(half);
      const i32 from = here.left(row) - first_key, to = here.right(row) - first_key;
      const u32 seen = to > from ? u32(to) - u32(from) : 0;
#pragma unroll
      for (int i = 0; i < scores.count; ++i) {
        if (scores.half(i) != half) continue;
        const i32 key = scores.offset(i);
        if (plan.kind.mask.left ? u32(key) - u32(from) >= seen : key >= to) scores.value[i] = -infinity;
      }
    }
  }

 private:
  Packing<plan> packing_;
  i32 keys_;
  u32 rows_;
  i32 left_, right_;
};

// The order in which all roles take the steps of a tile: from the last to the first, or from the diagonal to the first
// and then from the last to the diagonal.
template <AttentionPlan plan>
class StepOrder {
 public:
  WM_DEVICE StepOrder(const AttentionArguments& args, const Sequence& sequence, u32 first_query,
                      const Sight<plan>& sight)
      : begin_(sight.begin()), last_(sight.end() - 1), first_(last_) {
    if constexpr (plan.begins_at_diagonal())
      first_ =
          max(begin_, min(last_, Sight<plan>::diagonal(args, sequence, first_query + plan.rows() - 1) / plan.keys));
  }

  WM_DEVICE bool none() const { return last_ < begin_; }
  WM_DEVICE i32 first() const { return first_; }
  WM_DEVICE bool more(i32 step) const {  // behind this one
    if constexpr (plan.begins_at_diagonal()) return step != (first_ == last_ ? begin_ : first_ + 1);
    return step > begin_;
  }
  WM_DEVICE i32 after(i32 step) const { return plan.begins_at_diagonal() && step == begin_ ? last_ : step - 1; }
  WM_DEVICE i32 last() const { return last_; }  // of the sequence's keys
  WM_DEVICE u32 steps() const { return last_ + 1 - begin_; }
  WM_DEVICE u32 before_last() const { return first_ == last_ ? 0 : first_ + 1 - begin_; }  // taken before last()

 private:
  i32 begin_, last_, first_;
};

}  // namespace wm
