// A barrier is invalidated by a thread that has no word of the copy that signals it.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
  __shared__ alignas(16) u32 tile[64];
  __shared__ u64 full;
  prepare(full, 1);
  if (threadIdx.x == 0) {
    mbarrier::arrive_expect_tx(&full, sizeof tile);
    bulk::load(tile, x, sizeof tile, &full);  // expect: second
  }
  if (threadIdx.x >= 32) mbarrier::wait_parity(&full, 0);
#ifdef REPAIRED
  __syncthreads();
#endif
  if (threadIdx.x == 0) mbarrier::invalidate(&full);  // expect: first
  if (threadIdx.x >= 32) y[threadIdx.x - 32] = tile[threadIdx.x - 32];
}
