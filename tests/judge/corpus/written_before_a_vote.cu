// One lane arrives for its warp after a vote, which orders nothing of what the other lanes have written.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
  __shared__ u32 tile[32];
  __shared__ u64 full;
  prepare(full, 1);
  const u32 lane = threadIdx.x % 32;
  if (threadIdx.x < 32) {
    const u32 value = x[lane];
    tile[lane] = value;  // expect: second
    const u32 small = __ballot_sync(~0u, value < 100);
#ifdef REPAIRED
    __syncwarp();
#endif
    if (lane == 0 && small != 0) mbarrier::arrive(&full);
  } else {
    mbarrier::wait_parity(&full, 0);
    y[31 - lane] = tile[31 - lane];  // expect: first
  }
}
