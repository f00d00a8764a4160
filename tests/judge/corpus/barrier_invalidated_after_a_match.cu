// The lane that a match elects ends the barrier that all its warp's lanes have waited on.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
  __shared__ alignas(16) u32 tile[32];
  __shared__ u64 full;
  prepare(full, 1);
  if (threadIdx.x == 0) {
    mbarrier::arrive_expect_tx(&full, sizeof tile);
    bulk::load(tile, x, sizeof tile, &full);
  }
  mbarrier::wait_parity(&full, 0);  // expect: second
  y[threadIdx.x] = tile[threadIdx.x];
  const u32 all = __match_any_sync(~0u, 1);
#ifdef REPAIRED
  __syncwarp();
#endif
  if (threadIdx.x == __ffs(all) - 1) mbarrier::invalidate(&full);  // expect: first
}
