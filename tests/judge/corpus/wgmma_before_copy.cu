// wgmma reads its operands with no wait for the copy that brings them.
#include "../wgmma.cuh"

extern "C" __global__ void kernel(const bf16* ones, f32* y) {
  __shared__ Operands tile;
  __shared__ u64 full;
  prepare(full, 1);
  if (threadIdx.x == 0) {
    mbarrier::arrive_expect_tx(&full, sizeof tile);
    bulk::load(&tile, ones, sizeof tile, &full);  // expect: second
  }
  __syncthreads();
#ifdef REPAIRED
  mbarrier::wait_parity(&full, 0);
#endif
  f32 sum[4] = {};
  multiply(sum, tile);  // expect: first
  wgmma::wait<0>(sum);
  write(y, sum);
  __syncthreads();
  if (threadIdx.x == 0) mbarrier::wait_parity(&full, 0);
}
