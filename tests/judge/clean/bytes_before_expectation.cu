// The copy is issued before its bytes are announced: the count is negative for a moment.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
  __shared__ alignas(16) u32 tile[128];
  __shared__ u64 full;
  prepare(full, 1);
  if (threadIdx.x == 0) {
    bulk::load(tile, x, sizeof tile, &full);
    __nanosleep(1000);
    mbarrier::arrive_expect_tx(&full, sizeof tile);
  }
  mbarrier::wait_parity(&full, 0);
  y[threadIdx.x] = tile[threadIdx.x];
}
