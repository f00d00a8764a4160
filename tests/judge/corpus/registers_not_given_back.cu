// Two groups take registers, and the third keeps all that it was started with.
#include "../common.cuh"

extern "C" __global__ void __launch_bounds__(384, 1) kernel(const u32* x, u32* y) {
  if (threadIdx.x < 128) {
#ifdef REPAIRED
    registers::decrease_to<40>();
#endif
    y[threadIdx.x] = x[threadIdx.x];
  } else {
    registers::increase_to<232>();  // expect: first
    y[threadIdx.x] = x[threadIdx.x];
  }
}
