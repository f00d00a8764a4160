// Counters in shared memory that nobody set to zero.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
  __shared__ u32 count[32];
#ifdef REPAIRED
  if (threadIdx.x < 32) count[threadIdx.x] = 0;
#endif
  __syncthreads();
  atomicAdd(&count[x[threadIdx.x] % 32], 1);  // expect: first
  __syncthreads();
  if (threadIdx.x < 32) y[threadIdx.x] = count[threadIdx.x];
}
