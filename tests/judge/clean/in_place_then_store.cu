// A tile brought by a copy, changed in place, fenced and stored: one buffer, both proxies.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
  __shared__ alignas(16) u32 tile[128];
  __shared__ u64 full;
  prepare(full, 1);
  if (threadIdx.x == 0) {
    mbarrier::arrive_expect_tx(&full, sizeof tile);
    bulk::load(tile, x, sizeof tile, &full);
  }
  mbarrier::wait_parity(&full, 0);
  tile[threadIdx.x] += 1;
  fence::proxy_async_shared();
  __syncthreads();
  if (threadIdx.x == 0) {
    bulk::store(y, tile, sizeof tile);
    bulk::commit_group();
    bulk::wait_group<0>();
  }
}
