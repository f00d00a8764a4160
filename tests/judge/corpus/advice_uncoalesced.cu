// Each thread walks a run of its own: one instruction touches 32 sectors.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
  for (u32 i = 0; i < 32; ++i) {
#ifdef REPAIRED
    const u32 at = 128 * i + threadIdx.x;
#else
    const u32 at = 32 * threadIdx.x + i;
#endif
    y[at] = x[at];  // expect: first
  }
}
