// Blocks add to one counter with a load and a store.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
  if (threadIdx.x == 0) {
#ifdef REPAIRED
    atomicAdd(y, x[1]);
#else
    *y += x[1];  // expect: first
#endif
  }
}
