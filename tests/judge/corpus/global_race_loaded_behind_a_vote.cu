// One lane loads back what all have written to global memory, after a vote and its own fence.
#include "../common.cuh"

extern "C" __global__ void kernel(u32* x, u32* y) {
  __shared__ alignas(16) u32 tile[32];
  __shared__ u64 full;
  prepare(full, 1);
  const u32 lane = threadIdx.x;
  x[lane] = lane;  // expect: second
  const u32 all = __ballot_sync(~0u, lane < 32);
#ifdef REPAIRED
  __syncwarp();
#endif
  if (lane == 0 && all != 0) {
    fence::proxy_async();
    mbarrier::arrive_expect_tx(&full, sizeof tile);
    bulk::load(tile, x, sizeof tile, &full);  // expect: first
  }
  mbarrier::wait_parity(&full, 0);
  y[lane] = tile[lane];
}
