// A block that leaves room for a second one on its multiprocessor starts with half of the registers: 256 x 128, and
// 24 + 240 is more than twice 128.
#include "../common.cuh"

#ifdef REPAIRED
constexpr int blocks_each = 1;
#else
constexpr int blocks_each = 2;
#endif

extern "C" __global__ void __launch_bounds__(256, blocks_each) kernel(const u32* x, u32* y) {
  if (threadIdx.x < 128) {
    registers::decrease_to<24>();
    y[threadIdx.x] = x[threadIdx.x];
  } else {
    registers::increase_to<240>();  // expect: first
    y[threadIdx.x] = x[threadIdx.x];
  }
}
