// Three warpgroups with their own register budgets, a ring between them, no thread left behind.
#include "../common.cuh"

extern "C" __global__ void __launch_bounds__(384, 1) kernel(const u32* x, u32* y) {
  __shared__ alignas(16) u32 stage[2][128];
  __shared__ u64 full[2], empty[2];
  prepare(full[0], 1, full[1], 1, empty[0], 8, empty[1], 8);
  if (threadIdx.x < 128) {
    registers::decrease_to<40>();
    if (threadIdx.x == 0) {
      for (u32 step = 0; step < 4; ++step) {
        mbarrier::wait_parity(&empty[step % 2], ~(step / 2) & 1);
        mbarrier::arrive_expect_tx(&full[step % 2], sizeof stage[0]);
        bulk::load(stage[step % 2], x + step * 128, sizeof stage[0], &full[step % 2]);
      }
    }
  } else {
    registers::increase_to<232>();
    const u32 thread = threadIdx.x - 128;
    for (u32 step = 0; step < 4; ++step) {
      mbarrier::wait_parity(&full[step % 2], step / 2 & 1);
      const u32 value = stage[step % 2][thread / 2];
      if (thread % 2 == 0) y[step * 128 + thread / 2] = value;
      __syncwarp();
      if (threadIdx.x % 32 == 0) mbarrier::arrive(&empty[step % 2]);
    }
  }
}
