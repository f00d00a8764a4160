// Register counts that add up to what a multiprocessor has, 128 x (32 + 240 + 240) = 65536: the block was started with
// 384 x 168 = 64512, and the last group waits for ever.
#include "../common.cuh"

extern "C" __global__ void __launch_bounds__(384, 1) kernel(const u32* x, u32* y) {
  if (threadIdx.x < 128) {
#ifdef REPAIRED
    registers::decrease_to<24>();
#else
    registers::decrease_to<32>();
#endif
    y[threadIdx.x] = x[threadIdx.x];
  } else {
    registers::increase_to<240>();  // expect: first
    y[threadIdx.x] = x[threadIdx.x];
  }
}
