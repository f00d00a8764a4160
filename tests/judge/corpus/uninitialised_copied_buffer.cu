// A buffer that nobody has written is copied to another that holds nothing yet.
#include "../common.cuh"

extern "C" __global__ void kernel(u32* x, u32* y) {
#ifdef REPAIRED
  x[threadIdx.x] = threadIdx.x;
#endif
  y[threadIdx.x] = x[threadIdx.x];  // expect: first
}
