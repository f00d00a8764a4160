// Limits that nobody wrote are compared with: only those above a large number choose another result.
#include "../common.cuh"

extern "C" __global__ void kernel(i32* limits, const u32* x, u32* y) {
#ifdef REPAIRED
  limits[threadIdx.x] = 0;
#endif
  y[threadIdx.x] = limits[threadIdx.x] > 0x40000000 ? 5 : x[threadIdx.x];  // expect: first
}
