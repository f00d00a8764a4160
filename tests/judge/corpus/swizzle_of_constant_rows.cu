// A tile with 128-byte swizzle between two patterns: its rows are counted from its beginning, by the compiler.
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
  const u32 column = threadIdx.x % 32;
  if (threadIdx.x >= 32) return;
#pragma unroll
  for (u32 row = 0; row < 32; ++row) y[row * 32 + column] = tile[row * 32 + (column ^ row % 8 * 4)];
}
