// The last thread reaches beyond its array; that does not hide the race that comes after.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
  __shared__ u32 kept[64];
  u32 value = x[threadIdx.x];
#ifndef REPAIRED
  if (threadIdx.x == 63) value += x[1 << 20];
#endif
  kept[threadIdx.x] = value;  // expect: second
#ifdef REPAIRED
  __syncthreads();
#endif
  y[threadIdx.x] = kept[63 - threadIdx.x] + 2 * threadIdx.x - 63;  // expect: first
}
