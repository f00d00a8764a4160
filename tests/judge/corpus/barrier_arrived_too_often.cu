// Every lane of the producing warp arrives at a barrier that expects one of them.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
  __shared__ alignas(16) u32 tile[64];
  __shared__ u64 full;
  prepare(full, 1);
#ifdef REPAIRED
  if (threadIdx.x == 0) mbarrier::arrive_expect_tx(&full, sizeof tile);
#else
  if (threadIdx.x < 32) mbarrier::arrive_expect_tx(&full, threadIdx.x == 0 ? sizeof tile : 0);  // expect: first
#endif
  if (threadIdx.x == 0) bulk::load(tile, x, sizeof tile, &full);
  mbarrier::wait_parity(&full, 0);
  if (threadIdx.x < 64) y[threadIdx.x] = tile[threadIdx.x];
}
