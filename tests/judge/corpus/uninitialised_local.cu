// A local array whose first element is read before it is written.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
  volatile u32 history[4];
#ifdef REPAIRED
  history[0] = 0;
#endif
  for (u32 i = 1; i < 4; ++i) history[i] = 0;
  u32 sum = x[threadIdx.x];
  for (u32 i = 0; i < 4; ++i) sum += history[(i + threadIdx.x) % 4];  // expect: first
  y[threadIdx.x] = sum;
}
