// A tile with 128-byte swizzle based at a multiple of 128 bytes: the pattern follows the address, not the tile.
#include "../common.cuh"

extern "C" __global__ void kernel(const __grid_constant__ TensorMap map, u32* y) {
  __shared__ alignas(1024) u32 space[2048];
  __shared__ u64 full;
#ifdef REPAIRED
  u32* tile = space;
#else
  u32* tile = space + 32;
#endif
  prepare(full, 1);
  if (threadIdx.x == 0) {
    mbarrier::arrive_expect_tx(&full, 4096);
    tma::load(tile, map, {0, 0}, &full);  // expect: first
  }
  mbarrier::wait_parity(&full, 0);
  for (u32 i = threadIdx.x; i < 1024; i += 128) {
    const u32 row = i / 32, column = i % 32;
    y[i] = tile[row * 32 + (column ^ row % 8 * 4)];
  }
}
