// All lanes of a warp initialise one barrier, each with the same count.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
  __shared__ alignas(16) u32 tile[128];
  __shared__ u64 full;
#ifdef REPAIRED
  if (threadIdx.x == 0) {
#else
  if (threadIdx.x < 32) {
#endif
    mbarrier::init(&full, 1);  // expect: first
    fence::mbarrier_init();
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    mbarrier::arrive_expect_tx(&full, sizeof tile);
    bulk::load(tile, x, sizeof tile, &full);
  }
  mbarrier::wait_parity(&full, 0);
  y[threadIdx.x] = tile[threadIdx.x];
}
