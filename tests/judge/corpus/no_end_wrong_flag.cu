// A block waits in a loop for a value of the flag that the other block never writes.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y, volatile u32* flag) {
#ifdef REPAIRED
  constexpr u32 ready = 2;
#else
  constexpr u32 ready = 1;
#endif
  if (threadIdx.x == 0) {
    if (blockIdx.x == 1) *flag = ready;
    while (blockIdx.x == 0 && *flag != 2) continue;  // expect: first
  }
  __syncthreads();
  y[blockIdx.x * 32 + threadIdx.x] = x[blockIdx.x * 32 + threadIdx.x];
}
