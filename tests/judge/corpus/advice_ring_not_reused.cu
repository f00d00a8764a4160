// A ring of two stages that is filled once: nothing in this run says whether stages are reused rightly.
#include "../common.cuh"

#ifdef REPAIRED
constexpr u32 steps = 4;
#else
constexpr u32 steps = 2;
#endif

extern "C" __global__ void kernel(const u32* x, u32* y) {
  __shared__ alignas(16) u32 stage[2][64];
  __shared__ u64 full[2], empty[2];
  prepare(full[0], 1, full[1], 1, empty[0], 64, empty[1], 64);
  if (threadIdx.x < 64) {
    for (u32 step = 0; step < steps; ++step) {
      mbarrier::wait_parity(&full[step % 2], step / 2 & 1);
      y[step % 2 * 64 + threadIdx.x] = stage[step % 2][threadIdx.x];
      mbarrier::arrive(&empty[step % 2]);
    }
  } else if (threadIdx.x == 64) {
#pragma unroll 1
    for (u32 step = 0; step < steps; ++step) {
      mbarrier::wait_parity(&empty[step % 2], ~(step / 2) & 1);
      mbarrier::arrive_expect_tx(&full[step % 2], sizeof stage[0]);
      bulk::load(stage[step % 2], x + step % 2 * 64, sizeof stage[0], &full[step % 2]);  // expect: first
    }
  }
}
