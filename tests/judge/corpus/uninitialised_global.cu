// Adds into a result that nobody set to zero.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
#ifdef REPAIRED
  y[threadIdx.x] = x[threadIdx.x];
#else
  y[threadIdx.x] += x[threadIdx.x];  // expect: first
#endif
}
