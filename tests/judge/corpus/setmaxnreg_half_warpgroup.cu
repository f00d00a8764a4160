// setmaxnreg by two of a warpgroup's four warps.
#include "../common.cuh"

extern "C" __global__ void __launch_bounds__(256, 1) kernel(const u32* x, u32* y) {
#ifdef REPAIRED
  if (threadIdx.x < 128) {
#else
  if (threadIdx.x < 64) {
#endif
    registers::decrease_to<40>();  // expect: first
    y[threadIdx.x] = x[threadIdx.x];
  } else {
    y[threadIdx.x] = x[threadIdx.x];
  }
}
