// The barrier after the writes is there, the one after the reads is not: the next step overwrites what is being read.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
  __shared__ u32 tile[128];
  for (u32 step = 0; step < 4; ++step) {
    tile[threadIdx.x] = x[step * 128 + threadIdx.x];  // expect: first
    __syncthreads();
    y[step * 128 + 127 - threadIdx.x] = tile[127 - threadIdx.x];  // expect: second
#ifdef REPAIRED
    __syncthreads();
#endif
  }
}
