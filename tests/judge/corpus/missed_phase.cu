// The arriving warp runs two phases with nothing to hold it back: the waiter may look when both are over.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
  __shared__ u32 tile[2][32];
  __shared__ u64 full, seen;
  prepare(full, 32, seen, 32);
  const u32 lane = threadIdx.x % 32;
  if (threadIdx.x < 32) {
    for (u32 i = 0; i < 2; ++i) {
      mbarrier::wait_parity(&full, i);  // expect: first
      mbarrier::arrive(&seen);
      y[32 * i + lane] = tile[i][lane];
    }
  } else if (threadIdx.x < 64) {
    for (u32 i = 0; i < 2; ++i) {
#ifdef REPAIRED
      if (i > 0) mbarrier::wait_parity(&seen, 0);
#endif
      tile[i][lane] = x[32 * i + lane];
      mbarrier::arrive(&full);  // expect: second
    }
  }
}
