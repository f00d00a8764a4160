// Accumulators read before the wait for the product that writes them.
#include "../wgmma.cuh"

extern "C" __global__ void kernel(const bf16* ones, f32* y) {
  __shared__ Operands tile;
  __shared__ u64 full;
  prepare(full, 1);
  if (threadIdx.x == 0) {
    mbarrier::arrive_expect_tx(&full, sizeof tile);
    bulk::load(&tile, ones, sizeof tile, &full);
  }
  mbarrier::wait_parity(&full, 0);
  f32 sum[4] = {};
  multiply(sum, tile);  // expect: second
#ifdef REPAIRED
  wgmma::wait<0>(sum);
#endif
  for (u32 i = 0; i < 4; ++i) y[128 * i + threadIdx.x] = sum[i];  // expect: first
#ifndef REPAIRED
  wgmma::wait<0>(sum);
#endif
}
