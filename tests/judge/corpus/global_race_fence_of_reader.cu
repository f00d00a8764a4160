// The reader's fence reaches its own block, and the flag was raised by another.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* z, u32* flag, u32* y) {
  if (blockIdx.x == 0) {
    z[threadIdx.x] = x[threadIdx.x];  // expect: second
    fence::acquire_release<Scope::device>();
    __syncthreads();
    if (threadIdx.x == 0) atomicExch(flag, 1);
  } else {
    if (threadIdx.x == 0)
      while (atomicAdd(flag, 0) == 0) {
      }
    __syncthreads();
#ifdef REPAIRED
    fence::acquire_release<Scope::device>();
#else
    fence::acquire_release<Scope::block>();
#endif
    y[threadIdx.x] = z[threadIdx.x];  // expect: first
  }
}
