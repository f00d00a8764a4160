// A tile that many wgmma read is overwritten while the last of them may still be reading it.
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
#pragma unroll 1
  for (u32 step = 0; step < 70; ++step) {
    multiply(sum, tile);  // expect: second
    wgmma::wait<1>(sum);
  }
#ifdef REPAIRED
  wgmma::wait<0>(sum);
  __syncthreads();
#endif
  tile.a[threadIdx.x].bits = 0;  // expect: first
#ifndef REPAIRED
  wgmma::wait<0>(sum);
#endif
  write(y, sum);
}
