// A loop that initialises one barrier too few.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
  __shared__ alignas(16) u32 stage[2][64];
  __shared__ u64 full[2];
  if (threadIdx.x == 0) {
#ifdef REPAIRED
    for (u32 i = 0; i < 2; ++i) mbarrier::init(&full[i], 1);
#else
    for (u32 i = 0; i < 1; ++i) mbarrier::init(&full[i], 1);
#endif
    fence::mbarrier_init();
  }
  __syncthreads();
  for (u32 i = 0; i < 2; ++i) {
    if (threadIdx.x == 0) {
      mbarrier::arrive_expect_tx(&full[i], sizeof stage[i]);  // expect: first
      bulk::load(stage[i], x + 64 * i, sizeof stage[i], &full[i]);
    }
    __syncthreads();
    mbarrier::wait_parity(&full[i], 0);
    if (threadIdx.x < 64) y[64 * i + threadIdx.x] = stage[i][threadIdx.x];
  }
}
