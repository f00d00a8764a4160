// A barrier that waits for two arrivals and gets one.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
  __shared__ u64 full;
  __shared__ u32 tile[64];
  prepare(full, 2);
  const u32 warp = threadIdx.x / 32;
  if (warp < 2) {
    tile[threadIdx.x] = x[threadIdx.x];
    __syncwarp();
#ifdef REPAIRED
    if (threadIdx.x % 32 == 0) mbarrier::arrive(&full);
#else
    if (threadIdx.x == 0) mbarrier::arrive(&full);
#endif
  } else {
    mbarrier::wait_parity(&full, 0);  // expect: first
    y[threadIdx.x - 64] = tile[threadIdx.x - 64];
  }
}
