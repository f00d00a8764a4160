// Lanes that loop for different times, then read and write side by side: on the chip they come together again.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
  __shared__ u32 tile[128];
  u32 value = x[threadIdx.x];
#pragma unroll 1
  for (u32 i = 0; i < threadIdx.x % 2 * 40; ++i) value = value * 3 + 1;
  tile[threadIdx.x] = value;
  __syncthreads();
  y[threadIdx.x] = x[threadIdx.x] + tile[threadIdx.x] - value;
}
