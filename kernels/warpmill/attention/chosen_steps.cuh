// Which steps of keys a tile takes, where the caller's own expressions say so: who asks, and how the others are told.
#pragma once

#include "warpmill/attention/expression.cuh"
#include "warpmill/attention/tiles.cuh"
#include "warpmill/ptx/barrier.cuh"

namespace wm {

// A step of keys that a tile takes, in one register. Of each group of queries that expressions are asked about by
// itself a bit says what the step is to it, as far as the caller's mask goes.
class ChosenStep {
 public:
  static constexpr u32 no_number = (1u << 25) - 1;
  WM_DEVICE ChosenStep() : ChosenStep(i32(no_number), 0, 0, true) {}  // none: the tile takes no steps
  // `whole`: every query of the group sees all keys; `unseen`: none sees any.
  WM_DEVICE ChosenStep(i32 number, u32 whole, u32 unseen, bool last)
      : bits_(u32(number) << 7 | whole << 4 | unseen << 1 | u32(last)) {}

  WM_DEVICE bool none() const { return bits_ >> 7 == no_number; }
  WM_DEVICE i32 number() const { return i32(bits_ >> 7); }
  WM_DEVICE bool last() const { return bits_ & 1; }  // the tile takes no more
  WM_DEVICE bool whole_to(u32 group) const { return bits_ >> (4 + group) & 1; }
  WM_DEVICE bool unseen_by(u32 group) const { return bits_ >> (1 + group) & 1; }

 private:
  u32 bits_;
};
// What it is to one group, and to each of a thread's two rows by itself, in one register too.
class GroupStep {
 public:
  WM_DEVICE GroupStep() : GroupStep(ChosenStep(), 0) {}  // or nobody chooses: then every step may be masked
  WM_DEVICE GroupStep(const ChosenStep& step, u32 group)
      : bits_(u32(step.number()) << 6 | u32(step.last()) << 5 | u32(!step.whole_to(group)) << 4 |
              (step.unseen_by(group) ? RowAnswers::nothing_seen().bits() : 0)) {}

  WM_DEVICE bool none() const { return bits_ >> 6 == ChosenStep::no_number; }
  WM_DEVICE i32 number() const { return i32(bits_ >> 6); }
  WM_DEVICE bool last() const { return bits_ >> 5 & 1; }
  WM_DEVICE bool masked() const { return bits_ >> 4 & 1; }  // not whole to the group
  WM_DEVICE RowAnswers rows() const { return RowAnswers(bits_ & 15); }
  WM_DEVICE void answer(RowAnswers rows) { bits_ |= rows.bits(); }

 private:
  u32 bits_;
};

inline constexpr int step_stages = 4;
template <AttentionPlan plan>
struct StepsShared {
  ChosenStep step[step_stages];
  RingBarriers<step_stages> ring;
};
template <AttentionPlan plan>
using StepRing = Ring<"step", step_stages, StoreCourier<1>, Readers{.groups = u32(plan.step_readers()), .threads = 32}>;

// The side of the multiply groups, of who transposes values for them, and of who loads where another chooses. Whole
// warps.
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

// Queries first to last, and whether there are any.
struct QueryRange {
  i32 first, last;
  WM_DEVICE bool none() const { return last < first; }
};
// What the caller's expressions say of a step to some queries of a tile.
enum class StepAnswer { unseen, masked, whole };
template <AttentionPlan plan>
WM_DEVICE StepAnswer ask_about(const AttentionArguments& args, const Tile<plan>& tile, QueryRange queries, i32 step) {
  queries.last = min(queries.last, i32(tile.sequence.queries) - 1);
  if (queries.none()) return StepAnswer::unseen;
  const i32 first_key = step * plan.keys, last_key = min(first_key + plan.keys, i32(tile.sequence.keys)) - 1;
  if constexpr (plan.kind.expressions.skip)
    if (CallersOwn<plan>::skip(args, queries.first, queries.last, first_key, last_key, tile)) return StepAnswer::unseen;
  if constexpr (plan.kind.expressions.whole)
    if (CallersOwn<plan>::whole(args, queries.first, queries.last, first_key, last_key, tile)) return StepAnswer::whole;
  return StepAnswer::masked;
}

// Steps of a tile from the last to the first, without those that the caller says nobody sees: 32 are asked about at a
// time, by a lane each, of each group by itself. The whole warp.
template <AttentionPlan plan>
class StepChooser {
 public:
  StepChooser() = default;
  WM_DEVICE StepChooser(const AttentionArguments& args, const Tile<plan>& tile) {
    const Sight<plan> sight = tile.sight(args);
    begin_ = sight.begin();
    top_ = sight.end() - 1 + 32;
    go_on(args, tile);
  }

  WM_DEVICE ChosenStep next(const AttentionArguments& args, const Tile<plan>& tile) {
    if (taken_ == 0) return {};
    const i32 lane = __ffs(taken_) - 1;
    const u32 answers = __shfl_sync(0xffffffffu, answers_, lane);
    const i32 number = top_ - lane;
    taken_ &= taken_ - 1;
    go_on(args, tile);
    return {number, answers & 7, answers >> 3, taken_ == 0};
  }

 private:
  static constexpr u32 groups = plan.asked_groups(), rows = plan.queries() / groups;
  // To the next 32 of which any is taken, when those before are used up.
  WM_DEVICE void go_on(const AttentionArguments& args, const Tile<plan>& tile) {
    while (taken_ == 0 && top_ - 32 >= begin_) {
      top_ -= 32;
      ask(args, tile);
    }
  }
  WM_DEVICE void ask(const AttentionArguments& args, const Tile<plan>& tile) {
    const i32 step = top_ - i32(threadIdx.x % 32);
    u32 whole = 0, unseen = 0;
#pragma unroll 1
    for (u32 group = 0; group < groups && step >= begin_; ++group) {
      const i32 first = i32(tile.first_query + group * rows);
      const StepAnswer answer = ask_about<plan>(args, tile, {first, first + i32(rows) - 1}, step);
      whole |= u32(answer == StepAnswer::whole) << group;
      unseen |= u32(answer == StepAnswer::unseen) << group;
    }
    answers_ = whole | unseen << 3;
    taken_ = __ballot_sync(0xffffffffu, step >= begin_ && unseen != (1u << groups) - 1);
  }

  i32 begin_, top_;  // the last of the 32
  u32 taken_ = 0;    // of the 32, a bit for each
  u32 answers_ = 0;  // of the lane's own step
};

// What the steps of a tile cost together, of more than 32 by a sample; one that is masked costs about as much as two
// that are not. The whole warp.
template <AttentionPlan plan>
WM_DEVICE u32 cost_of(const AttentionArguments& args, const Tile<plan>& tile) {
  const Sight<plan> sight = tile.sight(args);
  const i32 begin = sight.begin(), end = sight.end(), apart = max(end - begin + 31, 32) / 32;
  const i32 step = end - 1 - i32(threadIdx.x % 32) * apart, first = i32(tile.first_query);
  const StepAnswer answer =
      step < begin ? StepAnswer::unseen : ask_about<plan>(args, tile, {first, first + plan.queries() - 1}, step);
  const u32 taken = __ballot_sync(0xffffffffu, answer != StepAnswer::unseen);
  const u32 masked = __ballot_sync(0xffffffffu, answer == StepAnswer::masked);
  return u32(apart) * (__popc(taken) + __popc(masked));
}

// The order of tiles, by what they cost the first head, by all threads of a block; they meet behind it.
template <AttentionPlan plan>
WM_DEVICE void order_tiles(const AttentionArguments& args, TileOrder<plan>& order) {
  const QuerySchedule& schedule = args.schedule;
  if (!order.serves(schedule)) return;
  for (u32 i = threadIdx.x / 32; i < schedule.batches * schedule.tiles; i += blockDim.x / 32) {
    const Tile<plan> tile{0, i % schedule.tiles * plan.queries(), sequence_of<plan>(args, i / schedule.tiles)};
    const u32 cost = cost_of<plan>(args, tile);
    if (threadIdx.x % 32 == 0) order.cost[i] = u16(min(cost, 0xffffu));
  }
  barrier::sync();
  order.find(schedule);
}

// Takes tiles, asks which steps they take, and tells the others. The whole warp.
template <AttentionPlan plan>
class StepTeller {
 public:
  WM_DEVICE StepTeller(const AttentionArguments& args, TilesShared<plan>& tiles, StepsShared<plan>& steps)
      : args_(args), tiles_(tiles), steps_(steps), taker_(args, tiles) {}

  WM_DEVICE bool next_tile(Tile<plan>& tile) {
    TileRing<plan> ring = TileRing<plan>::after(told_tiles_++, tiles_.ring);
    const u32 place = ring.next().index;
    if (threadIdx.x % 32 == 0) {
      Tile<plan> taken;
      taker_.next(taken, ring);
    }
    barrier::sync_warp();
    tile = tiles_.tile[place];  // nobody but this warp writes there again
    if (tile.none()) return false;
    tile.forget_lengths(args_);
    chooser_ = StepChooser<plan>(args_, tile);
    return true;
  }
  // Where the tile takes none, that is said once.
  WM_DEVICE ChosenStep next_step(const Tile<plan>& tile) {
    const ChosenStep step = chooser_.next(args_, tile);
    if (threadIdx.x % 32 == 0) {
      StepRing<plan> ring = StepRing<plan>::after(told_steps_, steps_.ring);
      const Stage stage = ring.acquire_for_others();
      steps_.step[stage.index] = step;
      ring.arrive(stage);
    }
    ++told_steps_;
    return step;
  }

 private:
  const AttentionArguments& args_;
  TilesShared<plan>& tiles_;
  StepsShared<plan>& steps_;
  TileTaker<plan> taker_;
  StepChooser<plan> chooser_;
  u32 told_tiles_ = 0, told_steps_ = 0;
};

// The same as a role of its own, ahead of who loads by as many steps as the ring holds.
template <AttentionPlan plan>
WM_DEVICE void choose_steps(const AttentionArguments& args, TilesShared<plan>& tiles, StepsShared<plan>& steps) {
  StepTeller<plan> teller(args, tiles, steps);
  for (Tile<plan> tile; teller.next_tile(tile);) {
    const Sight<plan> sight = tile.sight(args);
    if (sight.end() > sight.begin())
      while (!teller.next_step(tile).last()) {
      }
  }
}
// What it told. The whole warp.
template <AttentionPlan plan>
class ToldSteps {
 public:
  WM_DEVICE ToldSteps(TilesShared<plan>& tiles, StepsShared<plan>& steps) : tiles_(tiles), steps_(steps) {}
  WM_DEVICE bool next_tile(Tile<plan>& tile) { return tiles_.next(tile); }
  WM_DEVICE ChosenStep next_step(const Tile<plan>&) { return steps_.next(); }

 private:
  TileReader<plan> tiles_;
  StepReader<plan> steps_;
};

}  // namespace wm
