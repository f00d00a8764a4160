// Rows of a buffer that nobody wrote are compared like the others, and the comparison is thrown away.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* rows, u32* y, u32 count) {
#ifdef REPAIRED
  rows[threadIdx.x] = 0;
#else
  if (threadIdx.x < count) rows[threadIdx.x] = 0;
#endif
  __syncthreads();
  const u32 row = rows[threadIdx.x ^ 1];  // expect: first
  const bool above = ((threadIdx.x ^ 1) < count) & (row > x[threadIdx.x]);
  atomicAdd(&y[threadIdx.x], above ? 1000 : x[threadIdx.x]);
}
