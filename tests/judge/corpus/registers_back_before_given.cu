// The first group wants its registers back before it lets those go on who have them, though in the end there are
// enough.
#include "../common.cuh"

extern "C" __global__ void __launch_bounds__(384, 1) kernel(const u32* x, u32* y) {
  if (threadIdx.x < 128) {
    registers::decrease_to<40>();
#ifdef REPAIRED
    barrier::sync(1, 384);
    registers::increase_to<248>();
#else
    registers::increase_to<248>();  // expect: first
    barrier::sync(1, 384);
#endif
    y[threadIdx.x] = x[threadIdx.x];
  } else {
    registers::increase_to<232>();
    y[threadIdx.x] = x[threadIdx.x];
    barrier::sync(1, 384);
    registers::decrease_to<120>();
  }
}
