// A place is chosen by a flag that is not always set: all ones, and any number with this bit, choose the same.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
  __shared__ u32 flag;
#ifdef REPAIRED
  y[threadIdx.x] = x[threadIdx.x];
  if (threadIdx.x == 0) flag = 4;
#else
  if (threadIdx.x == 0 && x[0] > 0) flag = x[0];
#endif
  __syncthreads();
  const u32 half = flag >> 2 & 1;  // expect: first
  y[half * 1024 + threadIdx.x] = x[threadIdx.x];
}
