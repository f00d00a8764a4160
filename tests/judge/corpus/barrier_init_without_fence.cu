// The copy engine signals a barrier whose initialisation was never made visible to the asynchronous proxy.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
  __shared__ alignas(16) u32 tile[64];
  __shared__ u64 full;
  if (threadIdx.x == 0) {
    mbarrier::init(&full, 1);  // expect: second
#ifdef REPAIRED
    fence::mbarrier_init();
#endif
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    mbarrier::arrive_expect_tx(&full, sizeof tile);
    bulk::load(tile, x, sizeof tile, &full);  // expect: first
  }
  mbarrier::wait_parity(&full, 0);
  if (threadIdx.x < 64) y[threadIdx.x] = tile[threadIdx.x];
}
