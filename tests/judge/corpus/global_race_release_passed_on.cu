// A release at block scope, which another thread's atomic operation of device scope passes on: it reaches no further.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* z, u32* flag, u32* y) {
  if (blockIdx.x == 0) {
    if (threadIdx.x == 0) {
      *z = *x;  // expect: second
#ifdef REPAIRED
      asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(flag) : "memory");
#else
      asm volatile("red.release.cta.global.add.u32 [%0], 1;" ::"l"(flag) : "memory");
#endif
    }
    __syncthreads();
    if (threadIdx.x == 32) asm volatile("red.relaxed.gpu.global.add.u32 [%0], 1;" ::"l"(flag) : "memory");
  } else if (threadIdx.x == 0) {
    u32 seen;
    do {
      asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
    } while (seen < 2);
    *y = *z;  // expect: first
  }
}
