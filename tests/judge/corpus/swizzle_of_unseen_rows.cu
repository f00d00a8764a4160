// A tile with 128-byte swizzle between two patterns: where its words lie is read from a table, so that it is not seen
// what that goes by.
#include "../common.cuh"

extern "C" __global__ void kernel(const __grid_constant__ TensorMap map, u32* y) {
  __shared__ alignas(1024) u32 space[2048];
  __shared__ u32 places[1024];
  __shared__ u64 full;
#ifdef REPAIRED
  u32* tile = space;
#else
  u32* tile = space + 32;
#endif
  for (u32 i = threadIdx.x; i < 1024; i += 128) places[i] = i ^ i / 32 % 8 * 4;
  prepare(full, 1);
  if (threadIdx.x == 0) {
    mbarrier::arrive_expect_tx(&full, 4096);
    tma::load(tile, map, {0, 0}, &full);  // expect: first
  }
  mbarrier::wait_parity(&full, 0);
  for (u32 i = threadIdx.x; i < 1024; i += 128) y[i] = tile[places[i]];
}
