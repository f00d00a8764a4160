// Three warps at a named barrier of four.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
  __shared__ u32 tile[96];
  if (threadIdx.x >= 96) return;
  tile[threadIdx.x] = x[threadIdx.x];
#ifdef REPAIRED
  barrier::sync(1, 96);
#else
  barrier::sync(1, 128);  // expect: first
#endif
  y[95 - threadIdx.x] = tile[95 - threadIdx.x];
}
