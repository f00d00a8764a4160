// Two warps give each stage back to a barrier that counts one: every other phase passes unseen.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
  __shared__ alignas(16) u32 stage[64];
  __shared__ u64 full, empty;
#ifdef REPAIRED
  prepare(full, 1, empty, 2);
#else
  prepare(full, 1, empty, 1);  // expect: second
#endif
  if (threadIdx.x < 64) {
    for (u32 step = 0; step < 8; ++step) {
      mbarrier::wait_parity(&full, step & 1);
      y[step * 64 + threadIdx.x] = stage[threadIdx.x];
      barrier::sync(1, 64);
      if (threadIdx.x % 32 == 0) mbarrier::arrive(&empty);  // expect: first
    }
  } else if (threadIdx.x == 64) {
    for (u32 step = 0; step < 8; ++step) {
      mbarrier::wait_parity(&empty, ~step & 1);
      mbarrier::arrive_expect_tx(&full, sizeof stage);
      bulk::load(stage, x + step * 64, sizeof stage, &full);
    }
  }
}
