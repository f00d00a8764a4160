// Elements of 4 bits are copied with gaps, which the barrier does not count: it expects the tile with its gaps.
#include "../common.cuh"

extern "C" __global__ void kernel(const __grid_constant__ TensorMap x, u32* y) {
  __shared__ alignas(128) u32 tile[16][32];  // sixteen elements in each 16 bytes
  __shared__ u64 full;
  prepare(full, 1);
  if (threadIdx.x == 0) {
#ifdef REPAIRED
    mbarrier::arrive_expect_tx(&full, sizeof tile / 2);
#else
    mbarrier::arrive_expect_tx(&full, sizeof tile);  // expect: first
#endif
    tma::load(tile, x, {0, 0}, &full);  // expect: second
  }
  mbarrier::wait_parity(&full, 0);
  for (u32 i = threadIdx.x; i < 256; i += 128) y[i] = tile[i / 16][i % 16 / 2 * 4 + i % 2];
}
