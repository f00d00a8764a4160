// Two warps, each waiting for what the other does after its own wait.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
  __shared__ u32 left[32], right[32];
  __shared__ u64 left_ready, right_ready;
  prepare(left_ready, 32, right_ready, 32);
  const u32 lane = threadIdx.x % 32;
  if (threadIdx.x < 32) {
    left[lane] = x[lane];
#ifdef REPAIRED
    mbarrier::arrive(&left_ready);
#endif
    mbarrier::wait_parity(&right_ready, 0);  // expect: first
    y[32 + lane] = right[lane];
#ifndef REPAIRED
    mbarrier::arrive(&left_ready);
#endif
  } else if (threadIdx.x < 64) {
    mbarrier::wait_parity(&left_ready, 0);  // expect: second
    y[lane] = left[lane];
    right[lane] = x[32 + lane];
    mbarrier::arrive(&right_ready);
  }
}
