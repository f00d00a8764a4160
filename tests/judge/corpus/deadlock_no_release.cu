// Consumers that never give a stage back.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
  __shared__ alignas(16) u32 stage[2][64];
  __shared__ u64 full[2], empty[2];
  prepare(full[0], 1, full[1], 1, empty[0], 64, empty[1], 64);
  if (threadIdx.x < 64) {
    name_role<"use">();
    for (u32 step = 0; step < 4; ++step) {
      mbarrier::wait_parity(&full[step % 2], step / 2 & 1);  // expect: second
      y[step * 64 + threadIdx.x] = stage[step % 2][threadIdx.x];
#ifdef REPAIRED
      mbarrier::arrive(&empty[step % 2]);
#endif
    }
  } else if (threadIdx.x == 64) {
    name_role<"load">();
    for (u32 step = 0; step < 4; ++step) {
      mbarrier::wait_parity(&empty[step % 2], ~(step / 2) & 1);  // expect: first
      mbarrier::arrive_expect_tx(&full[step % 2], sizeof stage[0]);
      bulk::load(stage[step % 2], x + step * 64, sizeof stage[0], &full[step % 2]);
    }
  }
}
