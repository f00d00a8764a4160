// A tile cleared with ordinary stores and then filled by a copy: the clearing may come last.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
  __shared__ alignas(16) u32 tile[128];
  __shared__ u64 full;
  tile[threadIdx.x] = 0;  // expect: second
#ifdef REPAIRED
  fence::proxy_async_shared();
#endif
  prepare(full, 1);
  if (threadIdx.x == 0) {
    mbarrier::arrive_expect_tx(&full, sizeof tile);
    bulk::load(tile, x, sizeof tile, &full);  // expect: first
  }
  mbarrier::wait_parity(&full, 0);
  y[threadIdx.x] = tile[threadIdx.x];
}
