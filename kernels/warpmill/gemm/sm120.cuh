// GEMM for sm_120a: D = epilogue(A B), warp-specialised and persistent, with the copy engine and mma.sync.
//
// The roles are Hopper's: a load warpgroup, whose one working thread asks the copy engine for stages (where the engine
// cannot read the operands, all its threads copy), and one or two multiply warpgroups. These take operands out of
// shared memory with ldmatrix and multiply them as on Ampere: of each 64 rows of a group a warp has 16, and all columns
// of the tile, so that a group holds its sums as wgmma would leave them, and everything from there to D is shared.
//
//   full[s]   1 arrival (the load thread, which also announces the bytes) + the stage's bytes from the copy engine;
//             from threads, an arrival of each
//   empty[s]  1 arrival from each multiplying warp: what it needs is in its registers
//
// A block has 99 KiB of shared memory, so stages are few, and blocks share nothing: copies to a whole cluster are slow
// on this chip. m, n and k are arguments: what is compiled knows only the plan.
#pragma once

#include "warpmill/gemm/load_tiles.cuh"
#include "warpmill/gemm/mma_scaled_stage.cuh"
#include "warpmill/gemm/mma_stage.cuh"
#include "warpmill/ptx/cache.cuh"
#include "warpmill/ptx/elect.cuh"
#include "warpmill/ptx/grid.cuh"

namespace wm {

template <GemmPlan plan, class Function>
WM_DEVICE void multiply_tiles(const ArgumentsOf<plan>& args, GemmShared<plan>& shared, const GemmPlace<plan>& place,
                              u32 group) {
  const u32 first_row = group * plan.group_rows();
  GemmRing<plan> ring = ring_of<plan>(shared, place);
  Writer<plan, Function> writer(shared.out[group], u32(GemmBarrier::writer) + group);
  PieceWalk walk = place.walk(args.work);
  Piece piece;
  for (u32 number = 0; walk.next(piece); ++number) {
    GemmSums<plan> sums;
    sums.clear();
    for (u32 step = 0; step < piece.steps; ++step) {
      stamp<"multiply", "wait">(step);
      const Stage stage = ring.wait();
      stamp<"multiply", "multiply">(step);
      if constexpr (plan.kind.scaled())
        multiply_scaled_stage<plan>(sums, stage.index, first_row, place.corner(args.work.tile(piece.tile)), shared);
      else
        multiply_stage<plan>(sums, stage.index, first_row, shared);
      barrier::sync_warp();
      ring.release(stage);
    }
    stamp<"multiply", "store">(number);
    finish_piece<plan, Function>(sums, piece, args, place, group, first_row, writer);
  }
  writer.end();
  stamp<"multiply", "end">(0);
}

template <GemmPlan plan, class Function>
__global__ __launch_bounds__(plan.threads(),
                             plan.blocks_each()) void gemm_sm120(const __grid_constant__ ArgumentsOf<plan> args) {
  auto& shared = shared_of<plan>();
  const GemmPlace<plan> place;

  start_stamps();
  if (threadIdx.x == 0) {
    ring_of<plan>(shared, place).init();
    fence::mbarrier_init();
  } else if (plan.kind.by_tma() && threadIdx.x == 32) {  // so that the first copies need not wait for their maps
    cache::prefetch(args.a);
    cache::prefetch(args.b);
  }
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
}

}  // namespace wm
