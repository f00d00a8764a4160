// The producer's first wait on a fresh barrier asks for parity 0: a release that nobody can give yet.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
  __shared__ alignas(16) u32 stage[64];
  __shared__ u64 full, empty;
  prepare(full, 1, empty, 64);
  if (threadIdx.x < 64) {
    for (u32 step = 0; step < 4; ++step) {
      mbarrier::wait_parity(&full, step & 1);  // expect: second
      y[step * 64 + threadIdx.x] = stage[threadIdx.x];
      mbarrier::arrive(&empty);
    }
  } else if (threadIdx.x == 64) {
    for (u32 step = 0; step < 4; ++step) {
#ifdef REPAIRED
      mbarrier::wait_parity(&empty, ~step & 1);
#else
      mbarrier::wait_parity(&empty, step & 1);  // expect: first
#endif
      mbarrier::arrive_expect_tx(&full, sizeof stage);
      bulk::load(stage, x + step * 64, sizeof stage, &full);
    }
  }
}
