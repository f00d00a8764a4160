// The writer's fence reaches its own block, and the flag is read by another.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* z, u32* flag, u32* y) {
  if (blockIdx.x == 0) {
    z[threadIdx.x] = x[threadIdx.x];  // expect: second
#ifdef REPAIRED
    fence::acquire_release<Scope::device>();
#else
    fence::acquire_release<Scope::block>();
#endif
    __syncthreads();
    if (threadIdx.x == 0) atomicExch(flag, 1);
  } else {
    if (threadIdx.x == 0)
      while (atomicAdd(flag, 0) == 0) {
      }
    __syncthreads();
    fence::acquire_release<Scope::device>();
    y[threadIdx.x] = z[threadIdx.x];  // expect: first
  }
}
