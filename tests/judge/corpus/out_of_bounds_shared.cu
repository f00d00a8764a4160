// A tile one element short, at the end of the block's shared memory.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
#ifdef REPAIRED
  __shared__ u32 tile[128];
#else
  __shared__ u32 tile[127];
#endif
  tile[threadIdx.x] = x[threadIdx.x];  // expect: first
  __syncthreads();
  y[127 - threadIdx.x] = tile[127 - threadIdx.x];
}
