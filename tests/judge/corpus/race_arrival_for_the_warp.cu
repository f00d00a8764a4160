// One lane arrives for its warp, whose other lanes it has not waited for.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
  __shared__ u32 tile[32];
  __shared__ u64 full;
  prepare(full, 1);
  const u32 lane = threadIdx.x % 32;
  if (threadIdx.x < 32) {
    tile[lane] = x[lane];  // expect: second
#ifdef REPAIRED
    __syncwarp();
#endif
    if (lane == 0) mbarrier::arrive(&full);
  } else {
    mbarrier::wait_parity(&full, 0);
    y[31 - lane] = tile[31 - lane];  // expect: first
  }
}
