// wgmma by three of the four warps of a warpgroup.
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
#ifndef REPAIRED
  if (threadIdx.x < 96)
#endif
  {
    multiply(sum, tile);  // expect: first
    wgmma::wait<0>(sum);
  }
  write(y, sum);
}
