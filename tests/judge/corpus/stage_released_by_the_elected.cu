// The elected lane gives a stage back while others may still be loading from it: elect.sync waits for no load.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
  __shared__ alignas(16) u32 stage[32];
  __shared__ u64 full, empty;
  prepare(full, 1, empty, 1);
  if (threadIdx.x < 32) {
    for (u32 step = 0; step < 4; ++step) {
      mbarrier::wait_parity(&full, step & 1);
      y[32 * step + threadIdx.x] = stage[threadIdx.x];  // expect: second
#ifdef REPAIRED
      __syncwarp();
#endif
      if (elect_one()) mbarrier::arrive(&empty);
    }
  } else if (threadIdx.x == 32) {
    for (u32 step = 0; step < 4; ++step) {
      mbarrier::wait_parity(&empty, ~step & 1);
      mbarrier::arrive_expect_tx(&full, sizeof stage);
      bulk::load(stage, x + 32 * step, sizeof stage, &full);  // expect: first
    }
  }
}
