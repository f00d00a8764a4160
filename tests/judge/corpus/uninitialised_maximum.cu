// A maximum begins with what nobody wrote: ones and zeros, which no number here is below, change nothing.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
  __shared__ i32 largest;
#ifdef REPAIRED
  if (threadIdx.x == 0) largest = 0;
#endif
  __syncthreads();
  atomicMax(&largest, static_cast<i32>(x[threadIdx.x]));  // expect: first
  __syncthreads();
  y[threadIdx.x] = static_cast<u32>(largest);
}
