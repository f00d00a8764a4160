// No test for the tail: the last threads write past the end.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
#ifdef REPAIRED
  if (threadIdx.x >= 100) return;
#endif
  const u32 value = threadIdx.x < 100 ? x[threadIdx.x] : 0;
  y[threadIdx.x] = value;  // expect: first
}
