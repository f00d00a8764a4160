// GEMM on Hopper without roles: D = epilogue(A B), multistage and persistent.
//
// Every warpgroup multiplies, each its rows of the tile; thread 0 asks the copy engine for stages besides, as many
// ahead as the ring holds. It is the plainest of the three ways to keep the tensor cores fed (docs/gemm.md): the loads
// of a stage wait for the slowest group, and while the groups store their sums nobody multiplies.
//
//   full[s]   1 arrival (thread 0, which also announces the bytes) + the stage's bytes from the copy engine
//   empty[s]  1 arrival from each group
#pragma once

#include "warpmill/gemm/load_ahead.cuh"
#include "warpmill/gemm/sm90_stage.cuh"
#include "warpmill/ptx/grid.cuh"

namespace wm {

template <GemmPlan plan, class Function>
__global__ __launch_bounds__(plan.threads(), plan.blocks_each()) void gemm_sm90_multistage(
    const __grid_constant__ ArgumentsOf<plan> args) {
  auto& shared = shared_of<plan>();
  const GemmPlace<plan> place;
  GemmRing<plan> ring = ring_of<plan>(shared, place);
  const bool loads = threadIdx.x == 0;

  if (loads) {
    ring.init();
    fence::mbarrier_init();
  }
  barrier::sync();
  grid::launch_dependents();
  grid::wait();

  LoadAhead<plan> ahead(args, shared, place);
  if (loads)
    for (int i = 0; i < plan.stages - 1; ++i) ahead.next();

  const u32 group = warpgroup(), first_row = group * plan.group_rows();
  Writer<plan, Function> writer(shared.out[group], u32(GemmBarrier::writer) + group);
  PieceWalk walk = place.walk(args.work);
  for (Piece piece; walk.next(piece);) {
    GemmSums<plan> sums;
    Stage previous{0, SharedAddress(0u), SharedAddress(0u)};
    for (u32 step = 0; step < piece.steps; ++step) {
      const Stage stage = ring.wait();
      multiply_stage<plan>(sums, stage.index, first_row, shared, step > 0);
      wgmma::wait<1>();  // the stage before has been read
      if (step > 0) ring.release(previous);
      if (loads) ahead.next();  // into the stage before
      barrier::sync_warp();
      previous = stage;
    }
    wait_for<0>(sums);
    ring.release(previous);
    finish_piece<plan, Function>(sums, piece, args, place, group, first_row, writer);
  }
  writer.end();
}

}  // namespace wm
