// Which steps of keys a tile takes, where the caller's own expressions say so: who asks, and how the others are told.
#pragma once

#include "warpmill/attention/expression.cuh"
#include "warpmill/attention/tiles.cuh"
#include "warpmill/ptx/barrier.cuh"

namespace wm {

// A step of keys that a tile takes.
struct ChosenStep {      // in one register
  i32 number : 30 = -1;  // none: the tile takes no steps
  u32 whole : 1 = 0;     // every query sees all its keys, as far as the caller's mask goes
  u32 last : 1 = 1;      // the tile takes no more

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

// What the caller's expressions say of 32 steps of a tile, a bit for each: which the tile takes, and which of these are
// whole. Each lane asks about its own `step`; there is none before `begin`. The whole warp.
struct StepAnswers {
  u32 taken, whole;
};
template <AttentionPlan plan>
WM_DEVICE StepAnswers ask_about(const AttentionArguments& args, const Tile<plan>& tile, i32 step, i32 begin) {
  const i32 first_query = i32(tile.first_query);
  const i32 last_query = min(first_query + plan.queries(), i32(tile.sequence.queries)) - 1;
  const i32 first_key = step * plan.keys, last_key = min(first_key + plan.keys, i32(tile.sequence.keys)) - 1;
  bool taken = step >= begin, whole = false;
  if (taken) {
    if constexpr (plan.kind.expressions.skip)
      taken = !CallersOwn<plan>::skip(args, first_query, last_query, first_key, last_key, tile);
    if constexpr (plan.kind.expressions.whole)
      whole = taken && CallersOwn<plan>::whole(args, first_query, last_query, first_key, last_key, tile);
  }
  return {__ballot_sync(0xffffffffu, taken), __ballot_sync(0xffffffffu, whole)};
}

// Steps of a tile from the last to the first, without those that the caller says nobody sees: 32 are asked about at a
// time. The whole warp.
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
    const i32 lane = __ffs(taken_) - 1, number = top_ - lane;
    const u32 whole = whole_ >> lane & 1;
    taken_ &= taken_ - 1;
    go_on(args, tile);
    return {number, whole, u32(taken_ == 0)};
  }

 private:
  // To the next 32 of which any is taken, when those before are used up.
  WM_DEVICE void go_on(const AttentionArguments& args, const Tile<plan>& tile) {
    while (taken_ == 0 && top_ - 32 >= begin_) {
      top_ -= 32;
      ask(args, tile);
    }
  }
  WM_DEVICE void ask(const AttentionArguments& args, const Tile<plan>& tile) {
    const StepAnswers answers = ask_about<plan>(args, tile, top_ - i32(threadIdx.x % 32), begin_);
    taken_ = answers.taken;
    whole_ = answers.whole;
  }

  i32 begin_, top_;  // the last of the 32
  u32 taken_ = 0, whole_ = 0;
};

// What the steps of a tile cost together, of more than 32 by a sample; one that is masked costs about as much as two
// that are not. The whole warp.
template <AttentionPlan plan>
WM_DEVICE u32 cost_of(const AttentionArguments& args, const Tile<plan>& tile) {
  const Sight<plan> sight = tile.sight(args);
  const i32 begin = sight.begin(), end = sight.end(), apart = max(end - begin + 31, 32) / 32;
  const StepAnswers answers = ask_about<plan>(args, tile, end - 1 - i32(threadIdx.x % 32) * apart, begin);
  return u32(apart) * (__popc(answers.taken) + __popc(answers.taken & ~answers.whole));
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
      while (!teller.next_step(tile).last) {
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
