// Some lanes of the last warp have returned when the others reach an .aligned barrier of 128 threads.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
  __shared__ u32 tile[128];
#ifndef REPAIRED
  if (threadIdx.x >= 100) return;
#endif
  tile[threadIdx.x] = threadIdx.x < 100 ? x[threadIdx.x] : 0;
  barrier::sync(1, 128);  // expect: first
  if (threadIdx.x < 100) y[99 - threadIdx.x] = tile[99 - threadIdx.x];
}
