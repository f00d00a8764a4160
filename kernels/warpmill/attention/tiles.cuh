// Which tile of queries a block takes next: whichever no other has begun, or the next of its share. One thread asks,
// one tile ahead, and passes on what it gets (TileSource): the load thread, or of the warp that chooses steps.
#pragma once

#include "warpmill/attention/arguments.h"
#include "warpmill/attention/arriving.cuh"
#include "warpmill/attention/mask.cuh"
#include "warpmill/pipeline/claims.cuh"
#include "warpmill/pipeline/ring.cuh"
#include "warpmill/pipeline/roles.cuh"
#include "warpmill/pipeline/told_number.cuh"
#include "warpmill/ptx/barrier.cuh"

namespace wm {

// A tile with all that its keys and its output depend on.
template <AttentionPlan plan>
struct Tile {
  u32 head;
  u32 first_query;            // in its sequence
  SequenceOf<plan> sequence;  // without queries: there is no tile any more

  WM_DEVICE bool none() const { return sequence.queries == 0; }
  // Of sequences that are all of one length no register need remember it: it is an argument.
  WM_DEVICE void forget_lengths(const AttentionArguments& args) {
    if constexpr (!plan.kind.has_tails()) sequence = sequence_of<plan>(args, sequence.batch);
  }
  WM_DEVICE Sight<plan> sight(const AttentionArguments& args) const {
    return Sight<plan>(args, sequence, first_query, Packing<plan>(args).queries());
  }
  WM_DEVICE StepOrder<plan> steps(const AttentionArguments& args) const {
    return StepOrder<plan>(args, sequence, first_query, sight(args));
  }
  // Where a group's rows begin: the query, and the head where they are of several.
  WM_DEVICE u32 group_query(u32 group) const {
    return first_query + (plan.packed > 0 ? 0 : of_tile(group) * plan.group_rows());
  }
  WM_DEVICE u32 group_head(const AttentionArguments& args, u32 group) const {
    return head + of_tile(group) * Packing<plan>(args).group_heads();
  }
  // Keys of a step that belong to the sequence, where another one's may follow them in the same step; else 0.
  WM_DEVICE u32 keys_before_tail(i32 step) const {
    const u32 left = sequence.keys - step * plan.keys;
    return plan.kind.has_tails() && left < plan.keys ? left : 0;
  }

 private:
  // This block's group among those of the tile: of two blocks, the second's follow the first's.
  static WM_DEVICE u32 of_tile(u32 group) { return plan.pair ? group + cluster::rank() * plan.groups : group; }
};

// Sequences by falling number of keys, so that the shortest tiles come last. Many sequences need no order: they stay as
// the caller has them.
template <AttentionPlan plan>
struct SequenceOrder {
  static constexpr u32 most = 256;
  u8 sequence[most];

  WM_DEVICE u32 at(u32 place, u32 sequences) const { return sequences <= most ? sequence[place] : place; }
  // By `threads` threads, each its share: a sequence's place is how many come before it.
  WM_DEVICE void find(const AttentionArguments& args, u32 thread, u32 threads) {
    const u32 sequences = args.schedule.batches;
    if (sequences > most) return;
    for (u32 own = thread; own < sequences; own += threads) {
      const u32 keys = sequence_of<plan>(args, own).keys;
      u32 place = 0;
      for (u32 other = 0; other < sequences; ++other) {
        const u32 theirs = sequence_of<plan>(args, other).keys;
        place += theirs > keys || (theirs == keys && other < own);
      }
      sequence[place] = u8(own);
    }
  }
};

// Tiles of each batch by falling cost, where expressions choose their steps: the costliest are begun first, so that
// blocks end together. Of many tiles the last ones are a small part: these stay as the schedule has them. All blocks
// work out the same order, or tiles are done twice and others never: expressions say the same to whoever asks.
template <AttentionPlan plan>
struct TileOrder {
  static constexpr u32 most = AttentionPlan::most_ordered_tiles;
  u16 cost[most];  // of a batch's tiles, batch after batch
  u8 tile[most];   // the same by falling cost

  // Not where every block has one tile at most.
  static WM_DEVICE bool serves(const QuerySchedule& schedule) {
    return schedule.batches * schedule.tiles <= most && schedule.count() > gridDim.x;
  }
  WM_DEVICE u32 at(const QuerySchedule& schedule, u32 batch, u32 place) const {
    return serves(schedule) ? tile[batch * schedule.tiles + place] : schedule.tiles - 1 - place;
  }
  // By all threads of the block, which have met since the costs were written, and meet again.
  WM_DEVICE void find(const QuerySchedule& schedule) {
    for (u32 own = threadIdx.x; own < schedule.batches * schedule.tiles; own += blockDim.x) {
      const u32 first = own / schedule.tiles * schedule.tiles, own_cost = cost[own];
      u32 place = 0;
      for (u32 other = first; other < first + schedule.tiles; ++other)
        place += cost[other] > own_cost || (cost[other] == own_cost && other > own);
      tile[first + place] = u8(own - first);
    }
  }
};

inline constexpr int tile_stages = 2;
// How two blocks come to the same tile, or one to somebody else's; takes no room as a base where neither is so.
struct OwnTiles {};
template <AttentionPlan plan>
using TileAgreement = Select<plan.claims(), OwnClaimShared<u32(plan.blocks_together())>,
                             Select<plan.tells_tiles(), ToldNumberShared, OwnTiles>>;
template <AttentionPlan plan>
struct TilesShared : TileAgreement<plan> {
  Tile<plan> tile[tile_stages];
  RingBarriers<tile_stages> ring;
  Select<plan.kind.has_tails(), SequenceOrder<plan>, Select<plan.orders_tiles(), TileOrder<plan>, Nothing>> order;
};
template <AttentionPlan plan>
using TileRing = Ring<"tile", tile_stages, StoreCourier<1>, Readers{.groups = u32(plan.tile_readers()), .threads = 32}>;

// Tiles by number, in the order of the schedule; numbers are asked for in rising order.
template <AttentionPlan plan>
class TileNumbers {
 public:
  WM_DEVICE TileNumbers(const AttentionArguments& args, const TilesShared<plan>& shared)
      : args_(args), shared_(shared) {}

  WM_DEVICE Tile<plan> at(u32 number) {
    const QuerySchedule& schedule = args_.schedule;
    if constexpr (plan.kind.sequences) {
      // All heads of a tile, then the tile before it; sequence after sequence, the longest first.
      const u32 wanted = number / schedule.heads;
      while (place_ < schedule.batches) {
        const SequenceOf<plan> sequence = sequence_of<plan>(args_, shared_.order.at(place_, schedule.batches));
        const u32 tiles = (sequence.queries + plan.queries() - 1) / plan.queries();
        if (wanted - before_ < tiles)
          return {number % schedule.heads, (tiles - 1 - (wanted - before_)) * plan.queries(), sequence};
        before_ += tiles;
        ++place_;
      }
      return {};
    } else {
      if (number >= schedule.count()) return {};
      const QueryTile tile = schedule.at(number);
      u32 head = tile.head, batch = tile.batch;
      const Packing<plan> packing(args_);
      if constexpr (plan.packed > 0) {  // a tile has a part of the heads that share keys
        const u32 parts = (args_.head_ratio + packing.heads() - 1) / packing.heads();
        head = head / parts * args_.head_ratio + head % parts * packing.heads();
      }
      if constexpr (plan.kind.lengths) batch = shared_.order.at(batch, schedule.batches);
      u32 row = tile.tile;
      if constexpr (plan.orders_tiles()) row = shared_.order.at(schedule, batch, schedule.tiles - 1 - row);
      return {head, row * packing.queries(), sequence_of<plan>(args_, batch)};
    }
  }

 private:
  const AttentionArguments& args_;
  const TilesShared<plan>& shared_;
  u32 place_ = 0, before_ = 0;  // of the first sequence that is not used up, and the tiles of those before it
};

// The side of who takes them.
template <AttentionPlan plan>
class TileTaker {
 public:
  WM_DEVICE TileTaker(const AttentionArguments& args, TilesShared<plan>& shared)
      : numbers_(args, shared),
        counter_(reinterpret_cast<TileCounter*>(args.counter)),
        shared_(shared),
        schedule_(args.schedule),
        agreement_(shared) {}

  // The next tile, which all others are told of too, at the next place of the ring.
  WM_DEVICE bool next(Tile<plan>& tile, TileRing<plan>& ring) {
    if constexpr (plan.claims())
      if (asked_) number_ = agreement_.take(number_) ? number_ / blocks : schedule_.count();
    if constexpr (plan.tells_tiles())
      if (asked_) number_ = agreement_.pass(number_);
    asked_ = true;
    tile = numbers_.at(number_);
    const Stage stage = ring.acquire_for_others();
    shared_.tile[stage.index] = tile;
    ring.arrive(stage);
    if (tile.none()) {
      if constexpr (plan.tiles == TileSource::counter) leave();
      return false;
    }
    if constexpr (plan.claims()) {
      agreement_.ask();
    } else if constexpr (plan.tiles == TileSource::share) {
      number_ += gridDim.x / blocks;
    } else if (blocks == 1 || cluster::rank() == 0) {
      number_ = gridDim.x / blocks + atomicAdd(&counter_->taken, 1);  // wanted only when this tile is loaded
    }
    return true;
  }

 private:
  // Who leaves last leaves the counter as it was found.
  WM_DEVICE void leave() {
    __threadfence();
    if (atomicAdd(&counter_->done, 1) != gridDim.x - 1) return;
    __threadfence();
    *counter_ = {0, 0};
  }

  struct None {
    WM_DEVICE explicit None(const OwnTiles&) {}
  };
  TileNumbers<plan> numbers_;
  TileCounter* counter_;
  TilesShared<plan>& shared_;
  const QuerySchedule& schedule_;
  static constexpr u32 blocks = plan.blocks_together();
  Select<plan.claims(), OwnClaim<blocks>, Select<plan.tells_tiles(), ToldNumber, None>> agreement_;
  bool asked_ = false;
  u32 number_ = blockIdx.x / blocks;
};

// The others' side. Whole warps.
template <AttentionPlan plan>
class TileReader {
 public:
  WM_DEVICE explicit TileReader(TilesShared<plan>& shared) : shared_(shared) {}

  WM_DEVICE bool next(Tile<plan>& tile) {
    TileRing<plan> ring = TileRing<plan>::after(taken_++, shared_.ring);
    const Stage stage = ring.wait();
    tile = shared_.tile[stage.index];
    barrier::sync_warp();
    ring.release(stage);
    return !tile.none();
  }
  // The same in pieces, for who looks at one tile while it works on another: the next one where it lies; the one that
  // was taken last, until it is let go of.
  WM_DEVICE const Tile<plan>& ahead() const {
    TileRing<plan> ring = TileRing<plan>::after(taken_, shared_.ring);
    return shared_.tile[ring.wait().index];
  }
  WM_DEVICE void take() {
    ++taken_;
    asm volatile("" : "+r"(taken_));  // or the compiler keeps the number before too, where it is wanted again
  }
  WM_DEVICE const Tile<plan>& here() const { return shared_.tile[(taken_ - 1) % tile_stages]; }
  WM_DEVICE void let_go() const {
    const TileRing<plan> ring = TileRing<plan>::after(taken_ - 1, shared_.ring);
    barrier::sync_warp();
    ring.release(ring.next());
  }
  WM_DEVICE u32 taken() const { return taken_; }

 private:
  TilesShared<plan>& shared_;
  u32 taken_ = 0;
};

}  // namespace wm
