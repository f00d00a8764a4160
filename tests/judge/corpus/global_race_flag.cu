// A block publishes data and a flag with no fence between: the other may see the flag first.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* z, u32* flag, u32* y) {
  if (blockIdx.x == 0) {
    z[threadIdx.x] = x[threadIdx.x];  // expect: second
#ifdef REPAIRED
    __threadfence();
#endif
    __syncthreads();
    if (threadIdx.x == 0) atomicExch(flag, 1);
  } else {
    if (threadIdx.x == 0)
      while (atomicAdd(flag, 0) == 0) {
      }
    __syncthreads();
    __threadfence();
    y[threadIdx.x] = z[threadIdx.x];  // expect: first
  }
}
