// GEMM for sm_80 and everything newer: D = epilogue(A B), multistage and persistent, with cp.async and mma.sync.
//
// Every warp does everything: it copies its part of a stage, as many stages ahead as the ring holds, takes operands out
// of shared memory with ldmatrix and multiplies them. The four warps of a group have 16 rows each of 64 and all columns
// of the tile, so a group holds its sums as wgmma would leave them, and everything from there to D is shared with
// Hopper.
//
//   full[s]   an arrival of each thread, made by the hardware when the thread's copies have landed
//   empty[s]  an arrival of each warp
//
// The ring could also be cp.async groups and one __syncthreads a stage. With barriers a warp waits for the data it
// reads and for nothing else: warps that are ahead issue their copies and go on, and it is the same Ring as on Hopper.
#pragma once

#include "warpmill/gemm/load_ahead.cuh"
#include "warpmill/gemm/mma_stage.cuh"

namespace wm {

template <GemmPlan plan, class Function>
__global__ __launch_bounds__(plan.threads(),
                             plan.blocks_each()) void gemm_sm80(const __grid_constant__ ArgumentsOf<plan> args) {
  auto& shared = shared_of<plan>();
  const GemmPlace<plan> place;
  GemmRing<plan> ring = ring_of<plan>(shared, place);
  if (threadIdx.x == 0) ring.init();
  barrier::sync();

  LoadAhead<plan> ahead(args, shared, place);
  for (int i = 0; i < plan.stages - 1; ++i) ahead.next();

  const u32 group = warpgroup(), first_row = group * plan.group_rows();
  Writer<plan, Function> writer(shared.out[group], u32(GemmBarrier::writer) + group);
  PieceWalk walk = place.walk(args.work);
  for (Piece piece; walk.next(piece);) {
    GemmSums<plan> sums;
    sums.clear();
    for (u32 step = 0; step < piece.steps; ++step) {
      const Stage stage = ring.wait();
      ahead.next();  // into the stage before, once every warp has let go of it
      barrier::sync_warp();
      multiply_stage<plan>(sums, stage.index, first_row, shared);
      barrier::sync_warp();
      ring.release(stage);
    }
    finish_piece<plan, Function>(sums, piece, args, place, group, first_row, writer);
  }
  writer.end();
}

}  // namespace wm
