// A bulk copy rounds its size up past the end of the source.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
  __shared__ alignas(16) u32 tile[128];
  __shared__ u64 full;
  prepare(full, 1);
#ifdef REPAIRED
  const u32 bytes = 100 * 4;
#else
  const u32 bytes = 128 * 4;
#endif
  if (threadIdx.x == 0) {
    mbarrier::arrive_expect_tx(&full, bytes);
    bulk::load(tile, x, bytes, &full);  // expect: first
  }
  mbarrier::wait_parity(&full, 0);
  if (threadIdx.x < 100) y[threadIdx.x] = tile[threadIdx.x];
}
