// The lanes of a warp store different values to one element of an array with one instruction.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
#ifdef REPAIRED
  const u32 to = threadIdx.x;
#else
  const u32 to = threadIdx.x / 2;
#endif
  y[to] = x[threadIdx.x];  // expect: first
}
