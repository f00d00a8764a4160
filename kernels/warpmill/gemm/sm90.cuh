// GEMM on Hopper: D = epilogue(A B), warp-specialised and persistent.
//
// A block is one load warpgroup and one to three multiply warpgroups. The load warpgroup's one working thread asks the
// copy engine for stages of A and B (where the engine cannot read them, all its threads copy); the multiply groups feed
// them to the tensor cores, then write their sums out in strips while the loads of the next tile are already running.
// Cooperative groups have rows of the same tile each; ping-pong groups take turns at whole tiles.
//
//   full[s]   1 arrival (the load thread, which also announces the bytes) + the stage's bytes from the copy engine;
//             from threads, an arrival of each
//   empty[s]  1 arrival from each multiply group that reads the stage, of each block that shares an operand with us
//
// Blocks of a cluster share operands: blocks above each other load a part of the same B tile each (where it has too few
// parts, the first ones do) and send it to all of them, blocks side by side do so with A. And they may share each tile
// along k: the first block adds the sums (cluster_sums.cuh), or each those of some columns (scattered_sums.cuh). m, n
// and k are arguments: what is compiled knows only the plan.
#pragma once

#include "warpmill/gemm/load_tiles.cuh"
#include "warpmill/gemm/sm90_stage.cuh"
#include "warpmill/pipeline/turns.cuh"
#include "warpmill/ptx/cache.cuh"
#include "warpmill/ptx/elect.cuh"
#include "warpmill/ptx/grid.cuh"

namespace wm {

template <GemmPlan plan>
WM_DEVICE Stage next_stage(GemmRing<plan>& ring) {
  const Stage stage = ring.wait();
  if constexpr (!plan.kind.by_tma()) fence::proxy_async_shared();  // threads wrote what wgmma reads
  return stage;
}

// `steps` stages (one at least) for one tile. The stage before the current one is let go as soon as its products are
// done, so one group of products is always queued behind the running one.
template <GemmPlan plan, class HandOver>
WM_DEVICE void multiply(GemmSums<plan>& sums, GemmRing<plan>& ring, u32 steps, u32 first_row, GemmShared<plan>& shared,
                        HandOver hand_over) {
  Stage previous{0, SharedAddress(0u), SharedAddress(0u)};
  for (u32 step = 0; step < steps; ++step) {
    stamp<"multiply", "wait">(step);
    const Stage stage = next_stage<plan>(ring);
    stamp<"multiply", "multiply">(step);
    multiply_stage<plan>(sums, stage.index, first_row, shared, step > 0);
    wgmma::wait<1>();
    if (step > 0) ring.release(previous);
    previous = stage;
  }
  hand_over();
  wait_for<0>(sums);
  ring.release(previous);
}

// Sums that the tensor cores make of 128 products each, to be added to others in full precision: of some columns of 64
// rows of a group.
template <GemmPlan plan>
struct PromotedPart {
  static constexpr int columns = plan.promoted_columns(), of_columns = plan.tile.n / columns,
                       count = GemmSums<plan>::slabs * of_columns;  // of a group's rows
  Fragment<columns> products;

  WM_DEVICE void multiply(int number, const Stage& stage, u32 first_row, GemmShared<plan>& shared) {
    wgmma::fence();
    multiply_part(products, shared.a[stage.index], first_row + number / of_columns * 64, shared.b[stage.index],
                  number % of_columns * columns, false);
    wgmma::commit();
  }
  WM_DEVICE void add_to(GemmSums<plan>& sums, int number) {
    wgmma::pin(products.value);
    f32* const into = &sums.slab[number / of_columns].value[number % of_columns * columns / 2];
#pragma unroll
    for (int i = 0; i < products.count; ++i) into[i] += products.value[i];
  }
};

// `steps` stages: as many parts are in flight as registers hold, and one is added while the next is multiplied, but for
// the last. `take` waits for the next stage.
template <GemmPlan plan, int steps, class Take>
WM_DEVICE void promote_steps(GemmSums<plan>& sums, GemmRing<plan>& ring, u32 first_row, GemmShared<plan>& shared,
                             const Take& take) {
  using Part = PromotedPart<plan>;
  constexpr int ahead = plan.promoted_together(), parts = steps * Part::count;
  const Stage none{0, SharedAddress(0u), SharedAddress(0u)};
  static_assert(steps <= 8, "there is a place for each stage");
  Part part[ahead];
  Stage stage[8] = {none, none, none, none, none, none, none, none};
  const auto begin = [&](int i) {
    Stage& of_step = stage[i / Part::count];
    if (i % Part::count == 0) of_step = take();
    part[i % ahead].multiply(i % Part::count, of_step, first_row, shared);
  };
#pragma unroll
  for (int i = 0; i < ahead && i < parts; ++i) begin(i);
#pragma unroll
  for (int i = 0; i < parts; ++i) {
    if (ahead == 2 && i + 1 < parts)
      wgmma::wait<1>();  // the part behind it goes on
    else
      wgmma::wait<0>();
    if ((i + 1) % Part::count == 0) ring.release(stage[i / Part::count]);
    part[i % ahead].add_to(sums, i % Part::count);
    if (i + ahead < parts) begin(i + ahead);
  }
}

// The same for 8-bit floats whose sums must keep full precision: the tensor cores add 128 products, ordinary additions
// the rest, while the next part of the tile is multiplied, and another group's.
template <GemmPlan plan, class HandOver>
WM_DEVICE void multiply_promoted(GemmSums<plan>& sums, GemmRing<plan>& ring, u32 steps, u32 first_row,
                                 GemmShared<plan>& shared, HandOver hand_over) {
  // What is in flight from one round of a loop to the next, the compiler takes for a mistake: so a round has several
  // steps. What is left goes in loops too, though they run a few times at most: branches spill.
  constexpr int together = plan.promoted_steps();
  u32 step = 0;
  const auto take = [&] {
    stamp<"multiply", "wait">(step);
    const Stage stage = next_stage<plan>(ring);
    stamp<"multiply", "multiply">(step);
    if (++step == steps) hand_over();
    return stage;
  };
  sums.clear();
  if constexpr (together > 1)
    while (step + together <= steps) promote_steps<plan, together>(sums, ring, first_row, shared, take);
  if constexpr (together > 2)
    while (step + together / 2 <= steps) promote_steps<plan, together / 2>(sums, ring, first_row, shared, take);
  while (step < steps) promote_steps<plan, 1>(sums, ring, first_row, shared, take);
}

// A multiply thread's part in adding up tiles that its cluster shares along k.
template <GemmPlan plan>
WM_DEVICE auto tile_sums_of(GemmShared<plan>& shared, const GemmPlace<plan>& place, u32 group) {
  const TileSharers<plan> sharers{place.part_of_k, place.number};
  if constexpr (plan.scatters())
    return ScatteredSums<plan, GemmSums<plan>, GemmSums<plan, plan.written_columns()>>(shared.tile_sums, &shared,
                                                                                       sharers, place.sources(), group);
  else if constexpr (plan.cluster.k > 1)
    return ClusterSums<plan, GemmSums<plan>>(shared.tile_sums, sharers, group);
  else
    return NoSharedTiles{};
}

template <GemmPlan plan, class Function>
WM_DEVICE void multiply_tiles(const ArgumentsOf<plan>& args, GemmShared<plan>& shared, const GemmPlace<plan>& place,
                              u32 group) {
  constexpr bool pingpong = plan.pipelining == Pipelining::pingpong;
  const u32 first_row = pingpong ? 0 : group * plan.group_rows();
  // Ping-pong: whose turn it is to take stages. A wait for a stage tells only odd rounds of the ring from even ones, so
  // a group must not begin to wait before the other has waited for all of its own.
  const Turns<GemmBarrier::turn, 2> turns(group);
  GemmRing<plan> ring = ring_of<plan>(shared, place);
  Writer<plan, Function> writer(shared.out[group], u32(GemmBarrier::writer) + group);
  auto tile_sums = tile_sums_of<plan>(shared, place, group);
  PieceWalk walk = place.walk(args.work);
  Piece piece{}, following{};
  bool more = walk.next(piece);
  for (u32 number = 0; more; ++number, piece = following) {
    more = walk.next(following);
    if (pingpong && number % 2 != group) {
      ring.skip(piece.steps);
      continue;
    }
    stamp<"multiply", "turn">(number);
    if (pingpong && number > 0) turns.take();
    const auto hand_over = [&] {
      if (pingpong && more) turns.hand_over();
    };
    GemmSums<plan> sums;
    if constexpr (plan.kind.promote)
      multiply_promoted<plan>(sums, ring, piece.steps, first_row, shared, hand_over);
    else
      multiply<plan>(sums, ring, piece.steps, first_row, shared, hand_over);
    stamp<"multiply", "store">(number);
    if constexpr (plan.scatters()) {
      GemmSums<plan, plan.written_columns()> share;
      if (tile_sums.join(sums, share))
        finish_piece<plan, Function>(share, piece, args, place, group, first_row, writer);
    } else {
      if constexpr (plan.cluster.k > 1)
        if (!tile_sums.join(sums)) continue;
      finish_piece<plan, Function>(sums, piece, args, place, group, first_row, writer);
    }
  }
  writer.end();
  stamp<"multiply", "end">(0);
}

template <GemmPlan plan, class Function>
__global__ __launch_bounds__(plan.threads(),
                             plan.blocks_each()) void gemm_sm90(const __grid_constant__ ArgumentsOf<plan> args) {
  auto& shared = shared_of<plan>();
  const GemmPlace<plan> place;

  start_stamps();
  if (threadIdx.x == 0) {
    if constexpr (place.all_bring())
      ring_of<plan>(shared, place).init();
    else
      ring_of<plan>(shared, place).init(place.reached());
    if constexpr (plan.scatters())
      shared.tile_sums.init(place.reached());
    else if constexpr (plan.cluster.k > 1)
      shared.tile_sums.init();
    fence::mbarrier_init();
  } else if (plan.kind.by_tma() && threadIdx.x == 32) {  // so that the first copies need not wait for their maps
    cache::prefetch(args.a);
    cache::prefetch(args.b);
  } else if (plan.stores_by_engine() && threadIdx.x == 64) {  // nor the first store
    cache::prefetch(args.d);
    cache::prefetch(args.d_last);
  }
  if constexpr (plan.cluster_size() > 1)
    cluster::sync();  // the others' barriers must be there before our copies arrive at them
  else
    barrier::sync();
  // What each role does before grid::wait() needs nothing of the kernel ahead of us.
  if (const u32 role = warpgroup(); role == 0) {
    name_role<"load">();
    if constexpr (plan.moves_registers()) registers::decrease_to<plan.load_registers()>();
    if constexpr (plan.kind.by_tma()) {
      if (warp_of_warpgroup() == 0 && elect_one()) {
        load_tiles<plan>(args, shared, place);
        grid::launch_dependents();  // nothing left to load: the next kernel's blocks may come and load
      }
    } else {
      load_tiles<plan>(args, shared, place);
    }
  } else {
    name_role<"multiply">();
    if constexpr (plan.moves_registers()) registers::increase_to<plan.multiply_registers()>();
    grid::wait();
    multiply_tiles<plan, Function>(args, shared, place, role - 1);
  }
  if constexpr (plan.cluster_size() > 1) {
    // Nobody leaves while another block may still arrive at its barriers.
    cluster::arrive_unaligned();
    cluster::wait_unaligned();
  }
}

}  // namespace wm
