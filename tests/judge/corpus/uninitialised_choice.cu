// Whether zeros are written to a buffer that holds nothing yet depends on what nobody wrote.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
  __shared__ u32 skipped;
#ifdef REPAIRED
  if (threadIdx.x == 0) skipped = 0;
#else
  if (threadIdx.x == 0 && x[0] > 0) skipped = x[0];
#endif
  __syncthreads();
  if (skipped == 0) y[threadIdx.x] = 0;  // expect: first
}
