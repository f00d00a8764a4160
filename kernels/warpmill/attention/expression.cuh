// The caller's own expressions: of a score, of which keys a query sees, and of which steps of keys a tile takes.
#pragma once

#include "warpmill/attention/scales.cuh"

namespace wm {

// Compiled from the caller's words behind the kernel's headers, a function for each expression that the kind has.
template <AttentionPlan plan>
struct CallersOwn;

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

 private:
  // Rows and keys beyond the ends are asked as the last ones, so that arrays are read inside their bounds. Where there
  // are none beyond, no limit is asked for: a number is the thread's first and a constant.
  template <class Scores, class Visit>
  WM_DEVICE void each(Scores& scores, i32 step, Visit visit) const {
    // Arguments take no registers.
    const i32 last_query = i32(plan.kind.sequences ? tile_.sequence.queries : args_.queries) - 1;
    const i32 last_key = i32(plan.kind.has_tails() ? tile_.sequence.keys : args_.keys) - 1;
    const i32 first_key = step * plan.keys + i32(scores.column(0));
    const auto up_to = [&](i32 most_query, i32 most_key) {
#pragma unroll
      for (int i = 0; i < scores.count; ++i)
        visit(scores.value[i], min(i32(first_query_ + scores.row(i)), most_query),
              min(first_key + scores.offset(i), most_key));
    };
    constexpr i32 any = 0x7fffffff;
    if (i32(first_query_) + plan.group_rows() - 1 <= last_query && (step + 1) * plan.keys - 1 <= last_key)
      up_to(any, any);
    else
      up_to(last_query, last_key);
  }

  const AttentionArguments& args_;
  const ScalesOf<plan>& scales_;
  const Tile<plan>& tile_;
  u32 first_query_;
};

// A step of keys that a tile takes.
struct ChosenStep {
  i32 number = -1;  // none: the tile takes no steps
  u16 whole = 0;    // 1: every query sees all its keys, as far as the caller's mask goes
  u16 last = 1;     // 1: the tile takes no more

  WM_DEVICE bool none() const { return number < 0; }
};

inline constexpr int step_stages = 4;
template <AttentionPlan plan>
struct StepsShared {
  ChosenStep step[step_stages];
  RingBarriers<step_stages> ring;
};
template <AttentionPlan plan>
using StepRing = Ring<"step", step_stages, StoreCourier<1>, Readers{.groups = u32(plan.step_readers()), .threads = 32}>;

// The side of the multiply groups, and of who transposes values for them. Whole warps.
struct NoSteps {
  WM_DEVICE explicit NoSteps(const Nothing&) {}
};
template <AttentionPlan plan>
class StepReader {
 public:
  WM_DEVICE explicit StepReader(StepsShared<plan>& shared) : shared_(shared) {}

  WM_DEVICE ChosenStep next() {
    StepRing<plan> ring = StepRing<plan>::after(taken_++, shared_.ring);
    const Stage stage = ring.wait();
    const ChosenStep step = shared_.step[stage.index];
    barrier::sync_warp();
    ring.release(stage);
    return step;
  }

 private:
  StepsShared<plan>& shared_;
  u32 taken_ = 0;
};

// A value of the warp's first lane, for all of them. The whole warp.
template <class T>
WM_DEVICE T from_first_lane(const T& value) {
  struct Words {
    u32 word[sizeof(T) / 4];
  };
  static_assert(sizeof(Words) == sizeof(T), "a value of whole words");
  Words words = __builtin_bit_cast(Words, value);
#pragma unroll
  for (u32& word : words.word) word = __shfl_sync(0xffffffffu, word, 0);
  return __builtin_bit_cast(T, words);
}

// Steps of a tile from the last to the first, without those that the caller says nobody sees: 32 are asked about at a
// time, by a lane each. The whole warp.
template <AttentionPlan plan>
class StepChooser {
 public:
  WM_DEVICE StepChooser(const AttentionArguments& args, const Tile<plan>& tile, const Sight<plan>& sight)
      : args_(args), tile_(tile), begin_(sight.begin()), top_(sight.end() - 1) {
    ask();
  }

  WM_DEVICE ChosenStep next() {
    while (taken_ == 0) {
      top_ -= 32;
      if (top_ < begin_) return {};
      ask();
    }
    const i32 lane = __ffs(taken_) - 1;
    taken_ &= taken_ - 1;
    return {top_ - lane, u16(whole_ >> lane & 1), 0};
  }

 private:
  WM_DEVICE void ask() {
    const i32 step = top_ - i32(threadIdx.x % 32);
    const i32 first_query = i32(tile_.first_query);
    const i32 last_query = min(first_query + plan.queries(), i32(tile_.sequence.queries)) - 1;
    const i32 first_key = step * plan.keys, last_key = min(first_key + plan.keys, i32(tile_.sequence.keys)) - 1;
    bool taken = step >= begin_, whole = false;
    if (taken) {
      if constexpr (plan.kind.expressions.skip)
        taken = !CallersOwn<plan>::skip(args_, first_query, last_query, first_key, last_key, tile_);
      if constexpr (plan.kind.expressions.whole)
        whole = taken && CallersOwn<plan>::whole(args_, first_query, last_query, first_key, last_key, tile_);
    }
    taken_ = __ballot_sync(0xffffffffu, taken);
    whole_ = __ballot_sync(0xffffffffu, whole);
  }

  const AttentionArguments& args_;
  const Tile<plan>& tile_;
  i32 begin_, top_;  // the last of the 32
  u32 taken_, whole_;
};

}  // namespace wm
