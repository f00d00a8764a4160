// The same race at every step of an unrolled loop.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
  __shared__ u32 tile[4][64];
#pragma unroll
  for (u32 i = 0; i < 4; ++i) tile[i][threadIdx.x] = x[64 * i + threadIdx.x];  // expect: second
#ifdef REPAIRED
  __syncthreads();
#endif
#pragma unroll
  for (u32 i = 0; i < 4; ++i) y[64 * i + 63 - threadIdx.x] = tile[i][63 - threadIdx.x];  // expect: first
}
