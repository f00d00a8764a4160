// The lanes of a warp store different values to one address with one instruction.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
  __shared__ u32 last;
#ifdef REPAIRED
  if (threadIdx.x == 31)
#endif
    last = x[threadIdx.x];  // expect: first
  __syncthreads();
  y[threadIdx.x] = x[threadIdx.x] + (last > 1000);
}
