// Another lane than the one that initialised a barrier fences that, and uses it: only a vote stands between.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
  __shared__ alignas(16) u32 tile[32];
  __shared__ u64 full;
  const u32 lane = threadIdx.x;
  if (lane == 1) mbarrier::init(&full, 1);  // expect: second
  const u32 all = __ballot_sync(~0u, lane < 32);
#ifdef REPAIRED
  __syncwarp();
#endif
  if (lane == 0 && all != 0) {
    fence::mbarrier_init();
    mbarrier::arrive_expect_tx(&full, sizeof tile);  // expect: first
    bulk::load(tile, x, sizeof tile, &full);
    mbarrier::wait_parity(&full, 0);
  }
  __syncwarp();
  y[lane] = tile[lane];
}
