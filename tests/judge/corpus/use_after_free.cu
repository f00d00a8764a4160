// Memory of the device's heap is read after it was freed.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
  __shared__ u32* space;
  if (threadIdx.x == 0) space = static_cast<u32*>(malloc(32 * sizeof(u32)));
  __syncthreads();
  space[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
#ifndef REPAIRED
  if (threadIdx.x == 0) free(space);
  __syncthreads();
#endif
  y[31 - threadIdx.x] = space[31 - threadIdx.x];  // expect: first
#ifdef REPAIRED
  __syncthreads();
  if (threadIdx.x == 0) free(space);
#endif
}
