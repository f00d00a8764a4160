// Lanes of one warp exchange values through shared memory as if they marched in step.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
  __shared__ u32 tile[32];
  tile[threadIdx.x] = x[threadIdx.x];  // expect: second
#ifdef REPAIRED
  __syncwarp();
#endif
  y[31 - threadIdx.x] = tile[31 - threadIdx.x];  // expect: first
}
