// A register of inline assembly that is read and was never written.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
  u32 value;
#ifdef REPAIRED
  asm volatile("{.reg .u32 t; mov.u32 t, 0; add.u32 %0, t, %1;}" : "=r"(value) : "r"(x[threadIdx.x]));
#else
  asm volatile("{.reg .u32 t; add.u32 %0, t, %1;}" : "=r"(value) : "r"(x[threadIdx.x]));  // expect: first
#endif
  y[threadIdx.x] = value;
}
