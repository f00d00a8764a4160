// A barrier is initialised anew for the next tile: in order, but it was never invalidated.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
  __shared__ alignas(16) u32 tile[2][64];
  __shared__ u64 full;
  for (u32 i = 0; i < 2; ++i) {
    if (threadIdx.x == 0) {
#ifdef REPAIRED
      if (i > 0) mbarrier::invalidate(&full);
#endif
      mbarrier::init(&full, 1);  // expect: first
      fence::mbarrier_init();
    }
    __syncthreads();
    if (threadIdx.x == 0) {
      mbarrier::arrive_expect_tx(&full, sizeof tile[i]);
      bulk::load(tile[i], x + 64 * i, sizeof tile[i], &full);
    }
    mbarrier::wait_parity(&full, 0);
    if (threadIdx.x < 64) y[64 * i + threadIdx.x] = tile[i][threadIdx.x];
    __syncthreads();
  }
}
