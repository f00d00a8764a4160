// The caller's own expressions of a score, and of which keys a query sees.
#pragma once

#include "warpmill/attention/scales.cuh"

namespace wm {

// Compiled from the caller's words behind the kernel's headers, a function for each expression that the kind has.
template <AttentionPlan plan>
struct CallersOwn;

// Which of a thread's two rows see all keys of a step, and which none of them.
class RowAnswers {
 public:
  WM_DEVICE explicit RowAnswers(u32 bits = 0) : bits_(bits) {}
  static WM_DEVICE RowAnswers nothing_seen() { return RowAnswers(3 << 2); }
  WM_DEVICE u32 bits() const { return bits_; }

  WM_DEVICE void sees_all(int half, bool all) { bits_ |= u32(all) << half; }
  WM_DEVICE void sees_none(int half, bool none) { bits_ |= u32(none) << (2 + half); }

  WM_DEVICE bool sees_none(int half) const { return bits_ >> (2 + half) & 1; }
  WM_DEVICE bool none() const { return bits_ >> 2 == 3; }
  WM_DEVICE bool settled() const { return ((bits_ | bits_ >> 2) & 3) == 3; }

 private:
  u32 bits_;  // four
};

// For the queries of a group. `Scores` are what a thread has of a step: a Fragment, or a whole row.
template <AttentionPlan plan>
class Expressions {
 public:
  WM_DEVICE Expressions(const AttentionArguments& args, const ScalesOf<plan>& scales, const Tile<plan>& tile,
                        u32 first_query)
      : args_(args), scales_(scales), tile_(tile), first_query_(first_query) {}

  // The scores of a step become what the caller makes of them.
  template <class Scores>
  WM_DEVICE void change(Scores& scores, i32 step) const {
    each(scores, step, [&](f32& score, i32 query, i32 key) {
      score = CallersOwn<plan>::score(args_, score * scales_.score_scale, query, key, tile_);
    });
  }
  // Those of keys that a query does not see become -infinity.
  template <class Scores>
  WM_DEVICE void hide(Scores& scores, i32 step) const {
    each(scores, step, [&](f32& score, i32 query, i32 key) {
      if (!CallersOwn<plan>::mask(args_, query, key, tile_)) score = -infinity;
    });
  }
  // The same by what rows() said: of rows that see all keys or none nothing is asked again. Whole warps.
  template <class Scores>
  WM_DEVICE void hide(Scores& scores, i32 step, RowAnswers rows) const {
    if (!__all_sync(0xffffffffu, rows.settled())) return hide(scores, step);
#pragma unroll
    for (int i = 0; i < scores.count; ++i)
      if (rows.sees_none(scores.half(i))) scores.value[i] = -infinity;
  }
  // What the expressions of steps say of each of the thread's rows by itself: where a step is not the same to a whole
  // tile it mostly is to each of its queries.
  template <class Scores>
  WM_DEVICE RowAnswers rows(i32 step) const {
    RowAnswers answers;
    const i32 first_key = step * plan.keys, key = min(first_key + plan.keys - 1, last_key());
#pragma unroll
    for (int half = 0; half < Scores::halves; ++half) {
      const i32 query = min(i32(first_query_ + Scores::row_of_half(half)), last_query());
      if constexpr (plan.kind.expressions.whole)
        answers.sees_all(half, CallersOwn<plan>::whole(args_, query, query, first_key, key, tile_));
      if constexpr (plan.kind.expressions.skip)
        answers.sees_none(half, CallersOwn<plan>::skip(args_, query, query, first_key, key, tile_));
    }
    return answers;
  }

 private:
  // Arguments take no registers.
  WM_DEVICE i32 last_query() const { return i32(plan.kind.sequences ? tile_.sequence.queries : args_.queries) - 1; }
  WM_DEVICE i32 last_key() const { return i32(plan.kind.has_tails() ? tile_.sequence.keys : args_.keys) - 1; }
  // Rows and keys beyond the ends are asked as the last ones, so that arrays are read inside their bounds. Where there
  // are none beyond, no limit is asked for: a number is the thread's first and a constant.
  template <class Scores, class Visit>
  WM_DEVICE void each(Scores& scores, i32 step, Visit visit) const {
    const i32 first_key = step * plan.keys + i32(scores.column(0));
    const auto up_to = [&](i32 most_query, i32 most_key) {
#pragma unroll
      for (int i = 0; i < scores.count; ++i)
        visit(scores.value[i], min(i32(first_query_ + scores.row(i)), most_query),
              min(first_key + scores.offset(i), most_key));
    };
    constexpr i32 any = 0x7fffffff;
    if (i32(first_query_) + plan.group_rows() - 1 <= last_query() && (step + 1) * plan.keys - 1 <= last_key())
      up_to(any, any);
    else
      up_to(last_query(), last_key());
  }

  const AttentionArguments& args_;
  const ScalesOf<plan>& scales_;
  const Tile<plan>& tile_;
  u32 first_query_;
};

}  // namespace wm
