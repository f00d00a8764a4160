// A kernel that gives up where its input is not what it expects.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
#ifdef REPAIRED
  constexpr u32 most = 128;
#else
  constexpr u32 most = 100;
#endif
  if (x[threadIdx.x] >= most) __trap();  // expect: first
  y[threadIdx.x] = x[threadIdx.x];
}
