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
#include "warpmill/ptx/mma.cuh"
#include "warpmill/tile/mma_operand.cuh"

namespace wm {

// sums += a b, for 16 rows, 8 columns and 32 bytes of k.
template <class Element, class T>
WM_DEVICE void multiply_add(T (&sums)[4], const u32 (&a)[4], const u32 (&b)[2]) {
  if constexpr (same<Element, tf32>)
    mma::m16n8k8<Element>(sums, a, b, sums);
  else if constexpr (sizeof(Element) == 2)
    mma::m16n8k16<Element>(sums, a, b, sums);
  else
    mma::m16n8k32<Element>(sums, a, b, sums);
}

// The words of one product, as the tensor cores take them: f32 rounded to tf32, the low bits of which they ignore.
template <class Element, u32 count>
WM_DEVICE void round_words(u32 (&words)[count]) {
  if constexpr (same<Element, tf32>)
#pragma unroll
    for (u32& word : words) word = round_to<tf32>(__uint_as_float(word)).bits;
}

// The products of one stage, by each warp for its rows: four steps along k.
template <GemmPlan plan>
WM_DEVICE void multiply_stage(GemmSums<plan>& sums, u32 index, u32 first_row, GemmShared<plan>& shared) {
  constexpr int slabs = GemmSums<plan>::slabs;
  first_row += warp_of_warpgroup() * 16;
#pragma unroll
  for (u32 step = 0; step < 4; ++step) {
    u32 a[slabs][4];
#pragma unroll
    for (int slab = 0; slab < slabs; ++slab) {
      load_a(a[slab], shared.a[index], first_row + slab * 64, step);
      round_words<Element<plan.kind.a>>(a[slab]);
    }
#pragma unroll
    for (int column = 0; column < plan.tile.n; column += 16) {
      u32 b[2][2];
      load_b(b, shared.b[index], column, step);
      for (auto& words : b) round_words<Element<plan.kind.b>>(words);
#pragma unroll
      for (int slab = 0; slab < slabs; ++slab)
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          auto& four = sums.slab[slab].value[column / 2 + half * 4];  // of this thread, in eight columns
          multiply_add<Element<plan.kind.a>>(reinterpret_cast<Sum<plan>(&)[4]>(four), a[slab], b[half]);
        }
    }
  }
}

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
