// Many blocks read a value; the one that replaces it waits for all of them but one.
#include "../common.cuh"

#ifndef LEFT_OUT
  #define LEFT_OUT 68
#endif

extern "C" __global__ void kernel(u32* x, u32* done, u32* y) {
#ifdef REPAIRED
  constexpr u32 left_out = ~0u;
  const u32 counted = gridDim.x - 1;
#else
  constexpr u32 left_out = LEFT_OUT;
  const u32 counted = gridDim.x - 2;
#endif
  if (threadIdx.x != 0) return;
  if (blockIdx.x + 1 < gridDim.x) {
    y[blockIdx.x] = *x;  // expect: second
    if (blockIdx.x == left_out) return;
    __threadfence();
    atomicAdd(done, 1);
  } else {
    while (atomicAdd(done, 0) < counted) {
    }
    __threadfence();
    *x = 1;  // expect: first
  }
}
