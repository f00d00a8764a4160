// Ordinary stores into a tile that a wgmma has not finished reading.
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
  __syncthreads();
#endif
  tile.a[threadIdx.x].bits = 0;  // expect: first
#ifndef REPAIRED
  wgmma::wait<0>(sum);
#endif
  write(y, sum);
}
