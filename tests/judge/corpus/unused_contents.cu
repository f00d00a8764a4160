// What nobody wrote is compared, the comparison is thrown away, and the result is changed in place.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
  __shared__ u32 keys[129];
#ifdef REPAIRED
  if (threadIdx.x == 0) keys[128] = 0;
#endif
  keys[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  const u32 next = keys[threadIdx.x + 1];  // expect: first
  const bool falls = (threadIdx.x < 127) & (next < keys[threadIdx.x]);
  y[threadIdx.x] += falls ? 1000 : keys[threadIdx.x];
}
