// One warp reads what another wrote, with no barrier between.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
  __shared__ u32 tile[128];
  tile[threadIdx.x] = x[threadIdx.x];  // expect: second
#ifdef REPAIRED
  __syncthreads();
#endif
  y[127 - threadIdx.x] = tile[127 - threadIdx.x];  // expect: first
}
