// The barrier is told of 512 bytes; the copy brings 256.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
  __shared__ alignas(16) u32 tile[64];
  __shared__ u64 full;
  prepare(full, 1);
  if (threadIdx.x == 0) {
#ifdef REPAIRED
    mbarrier::arrive_expect_tx(&full, sizeof tile);
#else
    mbarrier::arrive_expect_tx(&full, 2 * sizeof tile);  // expect: first
#endif
    bulk::load(tile, x, sizeof tile, &full);  // expect: second
  }
  mbarrier::wait_parity(&full, 0);
  if (threadIdx.x < 64) y[threadIdx.x] = tile[threadIdx.x];
}
