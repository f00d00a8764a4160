// bar.arrive by the side that reads: it counts, but it does not wait.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
  __shared__ u32 tile[64];
  if (threadIdx.x < 32) {
    tile[threadIdx.x] = x[threadIdx.x];  // expect: second
    tile[32 + threadIdx.x] = x[32 + threadIdx.x];
    barrier::sync(1, 64);
  } else {
#ifdef REPAIRED
    barrier::sync(1, 64);
#else
    barrier::arrive(1, 64);
#endif
    y[threadIdx.x] = tile[threadIdx.x];
    y[threadIdx.x - 32] = tile[threadIdx.x - 32];  // expect: first
  }
}
