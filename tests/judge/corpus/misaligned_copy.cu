// A bulk copy into shared memory that is aligned to 4 bytes, not 16.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
#ifdef REPAIRED
  __shared__ alignas(16) u32 space[68];
  u32* tile = space;
#else
  __shared__ alignas(16) u32 space[68];
  u32* tile = space + 1;
#endif
  __shared__ u64 full;
  prepare(full, 1);
  if (threadIdx.x == 0) {
    mbarrier::arrive_expect_tx(&full, 256);
    bulk::load(tile, x, 256, &full);  // expect: first
  }
  mbarrier::wait_parity(&full, 0);
  if (threadIdx.x < 64) y[threadIdx.x] = tile[threadIdx.x];
}
