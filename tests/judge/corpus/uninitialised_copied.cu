// Half of a tile is written, and all of it copied to a buffer that holds nothing yet.
#include "../common.cuh"

extern "C" __global__ void kernel(const f32* x, f32* y) {
  __shared__ f32 tile[128];
#ifdef REPAIRED
  tile[threadIdx.x] = x[threadIdx.x];
#else
  if (threadIdx.x < 64) tile[threadIdx.x] = x[threadIdx.x];
#endif
  __syncthreads();
  y[127 - threadIdx.x] = tile[127 - threadIdx.x];  // expect: first
}
