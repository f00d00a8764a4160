// A release at block scope does not reach another block.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* z, u32* flag, u32* y) {
  if (blockIdx.x == 0) {
    z[threadIdx.x] = x[threadIdx.x];  // expect: second
    __syncthreads();
    if (threadIdx.x == 0) {
#ifdef REPAIRED
      asm volatile("st.release.gpu.global.u32 [%0], 1;" ::"l"(flag) : "memory");
#else
      asm volatile("st.release.cta.global.u32 [%0], 1;" ::"l"(flag) : "memory");
#endif
    }
  } else {
    if (threadIdx.x == 0) {
      u32 seen;
      do {
        asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
      } while (seen == 0);
    }
    __syncthreads();
    y[threadIdx.x] = z[threadIdx.x];  // expect: first
  }
}
