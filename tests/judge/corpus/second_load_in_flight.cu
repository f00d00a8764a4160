// A second load into the tile is issued before anybody has read the first.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
  __shared__ alignas(16) u32 tile[64];
  __shared__ u64 first, second;
  prepare(first, 1, second, 1);
  const auto load = [&](const u32* from, u64& full) {
    mbarrier::arrive_expect_tx(&full, sizeof tile);
    bulk::load(tile, from, sizeof tile, &full);
  };
  if (threadIdx.x == 0) load(x, first);
  mbarrier::wait_parity(&first, 0);
#ifdef REPAIRED
  y[threadIdx.x] = tile[threadIdx.x];
  __syncthreads();
#endif
  if (threadIdx.x == 0) load(x + 64, second);  // expect: second
#ifndef REPAIRED
  y[threadIdx.x] = tile[threadIdx.x];  // expect: first
#endif
  mbarrier::wait_parity(&second, 0);
  y[64 + threadIdx.x] = tile[threadIdx.x];
}
