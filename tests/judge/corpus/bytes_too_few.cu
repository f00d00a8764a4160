// The barrier is told of half the bytes the copy brings: the phase can end in the middle of the copy.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
  __shared__ alignas(16) u32 tile[256];
  __shared__ u64 full;
  prepare(full, 1);
  if (threadIdx.x == 0) {
#ifdef REPAIRED
    mbarrier::arrive_expect_tx(&full, sizeof tile);
#else
    mbarrier::arrive_expect_tx(&full, sizeof tile / 2);  // expect: first
#endif
    bulk::load(tile, x, sizeof tile, &full);  // expect: second
  }
  mbarrier::wait_parity(&full, 0);
  y[threadIdx.x] = tile[threadIdx.x];
  y[128 + threadIdx.x] = tile[128 + threadIdx.x];
}
