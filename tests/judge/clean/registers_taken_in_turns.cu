// Registers that change hands twice: two groups take what the first one gives, and give it back for the first to take.
#include "../common.cuh"

extern "C" __global__ void __launch_bounds__(384, 1) kernel(const u32* x, u32* y) {
  if (threadIdx.x < 128) {
    registers::decrease_to<40>();
    barrier::sync(1, 384);
    registers::increase_to<248>();
    y[threadIdx.x] = x[threadIdx.x];
  } else {
    registers::increase_to<232>();
    y[threadIdx.x] = x[threadIdx.x];
    barrier::sync(1, 384);
    registers::decrease_to<120>();
  }
}
