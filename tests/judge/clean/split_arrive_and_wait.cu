// Arrive, do something else, wait with the state that the arrival gave.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
  __shared__ u32 tile[2][128];
  __shared__ u64 ready;
  prepare(ready, 128);
  for (u32 i = 0; i < 2; ++i) {
    tile[i][threadIdx.x] = x[128 * i + threadIdx.x];
    const auto state = mbarrier::arrive(&ready);
    const u32 other = 127 - threadIdx.x;
    mbarrier::wait(&ready, state);
    y[128 * i + other] = tile[i][other];
  }
}
