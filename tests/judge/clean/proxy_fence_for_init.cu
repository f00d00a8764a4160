// fence.proxy.async makes a fresh barrier visible to the copy engine, in place of fence.mbarrier_init.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
  __shared__ alignas(16) u32 tile[128];
  __shared__ u64 full;
  if (threadIdx.x == 0) {
    mbarrier::init(&full, 128);
    fence::proxy_async_shared();
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    bulk::load(tile, x, sizeof tile, &full);
    mbarrier::arrive_expect_tx(&full, sizeof tile);
  } else {
    mbarrier::arrive(&full);
  }
  mbarrier::wait_parity(&full, 0);
  y[threadIdx.x] = tile[threadIdx.x];
}
