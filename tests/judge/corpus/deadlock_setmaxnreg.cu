// Register counts of three warpgroups that add up to more than the block was started with: 40 + 232 + 248 > 3 x 168.
#include "../common.cuh"

extern "C" __global__ void __launch_bounds__(384, 1) kernel(const u32* x, u32* y) {
  const u32 group = threadIdx.x / 128;
  if (group == 0) {
    registers::decrease_to<40>();
    y[threadIdx.x] = x[threadIdx.x];
  } else if (group == 1) {
    registers::increase_to<232>();
    y[threadIdx.x] = x[threadIdx.x];
  } else {
#ifdef REPAIRED
    registers::increase_to<232>();
#else
    registers::increase_to<248>();  // expect: first
#endif
    y[threadIdx.x] = x[threadIdx.x];
  }
}
