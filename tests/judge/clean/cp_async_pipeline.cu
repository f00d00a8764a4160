// Three stages of cp.async: wait for all but the newest two groups, a barrier, then everybody's bytes are there.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
  __shared__ u32 stage[3][128];
  const auto fetch = [&](u32 step) {
    if (step < 8) cp_async::copy<4>(&stage[step % 3][threadIdx.x], x + 128 * step + threadIdx.x);
    cp_async::commit_group();  // also an empty group, so that the count stays right
  };
  fetch(0);
  fetch(1);
  for (u32 step = 0; step < 8; ++step) {
    cp_async::wait_group<1>();
    __syncthreads();
    fetch(step + 2);
    y[128 * step + 127 - threadIdx.x] = stage[step % 3][127 - threadIdx.x];
  }
}
