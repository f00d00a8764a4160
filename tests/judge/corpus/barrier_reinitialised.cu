// Between two tiles the barrier is initialised again while the other warp may still be waiting on it.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
  __shared__ alignas(16) u32 tile[2][64];
  __shared__ u64 full;
  prepare(full, 1);
  for (u32 i = 0; i < 2; ++i) {
    if (threadIdx.x == 0) {
      mbarrier::arrive_expect_tx(&full, sizeof tile[i]);
      bulk::load(tile[i], x + 64 * i, sizeof tile[i], &full);
    }
    mbarrier::wait_parity(&full, 0);  // expect: second
    if (threadIdx.x < 64) y[64 * i + threadIdx.x] = tile[i][threadIdx.x];
#ifdef REPAIRED
    __syncthreads();
    if (threadIdx.x == 0) mbarrier::invalidate(&full);
#endif
    if (threadIdx.x == 0) {
      mbarrier::init(&full, 1);  // expect: first
      fence::mbarrier_init();
    }
    __syncthreads();
  }
}
