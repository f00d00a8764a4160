// A copy reads global memory that ordinary stores of the same kernel wrote.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* z, u32* y) {
  __shared__ alignas(16) u32 tile[128];
  __shared__ u64 full;
  z[threadIdx.x] = x[threadIdx.x];  // expect: second
#ifdef REPAIRED
  fence::proxy_async();
#endif
  prepare(full, 1);
  if (threadIdx.x == 0) {
    mbarrier::arrive_expect_tx(&full, sizeof tile);
    bulk::load(tile, z, sizeof tile, &full);  // expect: first
  }
  mbarrier::wait_parity(&full, 0);
  y[threadIdx.x] = tile[threadIdx.x];
}
