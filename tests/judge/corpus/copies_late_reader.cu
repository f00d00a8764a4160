// Many blocks copy a tile in; the one that replaces it waits for all of them but one.
#include "../common.cuh"

#ifndef LEFT_OUT
  #define LEFT_OUT 68
#endif

extern "C" __global__ void kernel(u32* x, u32* done, u32* y) {
  __shared__ alignas(128) u32 tile[32];
  __shared__ u64 full;
#ifdef REPAIRED
  constexpr u32 left_out = ~0u;
  const u32 counted = gridDim.x - 1;
#else
  constexpr u32 left_out = LEFT_OUT;
  const u32 counted = gridDim.x - 2;
#endif
  prepare(full, 1);
  if (threadIdx.x != 0) return;
  if (blockIdx.x + 1 < gridDim.x) {
    mbarrier::arrive_expect_tx(&full, sizeof tile);
    bulk::load(tile, x, sizeof tile, &full);  // expect: second
    mbarrier::wait_parity(&full, 0);
    y[blockIdx.x] = tile[0];
    if (blockIdx.x == left_out) return;
    __threadfence();
    atomicAdd(done, 1);
  } else {
    while (atomicAdd(done, 0) < counted) {
    }
    __threadfence();
    *x = 1;  // expect: first
  }
}
