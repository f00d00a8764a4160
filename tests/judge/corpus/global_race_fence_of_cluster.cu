// A fence at cluster scope between blocks that are no cluster.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* z, u32* flag, u32* y) {
#ifdef REPAIRED
  constexpr Scope scope = Scope::device;
#else
  constexpr Scope scope = Scope::cluster;
#endif
  if (blockIdx.x == 0) {
    z[threadIdx.x] = x[threadIdx.x];  // expect: second
    fence::acquire_release<scope>();
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
