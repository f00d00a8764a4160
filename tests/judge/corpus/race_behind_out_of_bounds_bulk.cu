// A bulk copy reaches beyond its source; that does not hide the race that comes after.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
  __shared__ alignas(16) u32 tile[64];
  __shared__ u32 kept[64];
  __shared__ u64 full;
  prepare(full, 1);
  if (threadIdx.x == 0) {
    mbarrier::arrive_expect_tx(&full, sizeof tile);
#ifdef REPAIRED
    bulk::load(tile, x, sizeof tile, &full);
#else
    bulk::load(tile, x + 32, sizeof tile, &full);
#endif
  }
  mbarrier::wait_parity(&full, 0);
  kept[threadIdx.x] = tile[threadIdx.x];  // expect: second
#ifdef REPAIRED
  __syncthreads();
#endif
  y[threadIdx.x] = kept[63 - threadIdx.x] + 2 * threadIdx.x - 63;  // expect: first
}
