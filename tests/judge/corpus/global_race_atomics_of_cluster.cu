// Atomic operations at cluster scope by blocks that are no cluster: to each other they are ordinary accesses.
#include "../common.cuh"

extern "C" __global__ void kernel(u32* sum, u32* y) {
  if (threadIdx.x == 0) {
#ifdef REPAIRED
    asm volatile("red.relaxed.gpu.global.add.u32 [%0], 1;" ::"l"(sum) : "memory");
#else
    asm volatile("red.relaxed.cluster.global.add.u32 [%0], 1;" ::"l"(sum) : "memory");  // expect: first
#endif
  }
  y[blockIdx.x * 32 + threadIdx.x] = 7;
}
