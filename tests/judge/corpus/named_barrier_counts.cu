// The two sides of a named barrier disagree on how many threads it has.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
  __shared__ u32 tile[64];
  if (threadIdx.x < 64) {
    tile[threadIdx.x] = x[threadIdx.x];
#ifdef REPAIRED
    barrier::arrive(1, 128);
#else
    barrier::arrive(1, 96);  // expect: second
#endif
  } else {
    barrier::sync(1, 128);  // expect: first
    y[threadIdx.x - 64] = tile[threadIdx.x - 64];
  }
}
