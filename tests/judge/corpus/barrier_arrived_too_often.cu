// Every lane of the producing warp arrives at a barrier that expects one of them.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
  __shared__ alignas(16) u32 tile[64];
  __shared__ u64 full;
  prepare(full, 1);
  if (threadIdx.x < 32) {
    if (threadIdx.x == 0) mbarrier::expect_tx(&full, sizeof tile);
    __syncwarp();
#ifdef REPAIRED
    if (threadIdx.x == 0) mbarrier::arrive(&full);
#else
    mbarrier::arrive(&full);  // expect: first
#endif
    __syncwarp();
    if (threadIdx.x == 0) bulk::load(tile, x, sizeof tile, &full);
  }
  mbarrier::wait_parity(&full, 0);
  if (threadIdx.x < 64) y[threadIdx.x] = tile[threadIdx.x];
}
