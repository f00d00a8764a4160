// Step 1: the copy engine brings one tile, and everybody waits for it.
#include "warpmill/ptx/barrier.cuh"
#include "warpmill/ptx/fence.cuh"
#include "warpmill/ptx/mbarrier.cuh"
#include "warpmill/ptx/tma.cuh"
#include "warpmill/tile/shared_tile.cuh"

using namespace wm;

using Tile = SharedTile<bf16, 64>;  // (64, 64): rows of 128 bytes, swizzled

extern "C" __global__ void copy(const __grid_constant__ TensorMap x, bf16* y) {
  __shared__ Tile tile;
  __shared__ u64 full;
  if (threadIdx.x == 0) {
    mbarrier::init(&full, 1);  // one arrival: the thread's below, which also says how many bytes will come
    fence::mbarrier_init();    // the engine sees the barrier
  }
  barrier::sync();  // and so do the other threads
  if (threadIdx.x == 0) {
    mbarrier::arrive_expect_tx(&full, sizeof tile);
    tma::load(&tile, x, {0, 0}, &full);
  }
#ifndef BROKEN_NO_WAIT
  mbarrier::wait_parity(&full, 0);
#endif
  for (u32 i = threadIdx.x; i < Tile::rows * Tile::columns; i += blockDim.x)
    y[i] = tile.at(i / Tile::columns, i % Tile::columns);
}
