// A's registers are reused while the product that reads them is under way.
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
  u32 a[4] = {0x3f803f80, 0x3f803f80, 0x3f803f80, 0x3f803f80};  // ones
  wgmma::pin(a);
  wgmma::fence();
  wgmma::multiply<bf16>(sum, a, descriptor(tile.b), true);  // expect: second
  wgmma::commit();
#ifdef REPAIRED
  wgmma::wait<0>(sum);
#endif
  asm volatile("mov.b32 %0, 0;" : "+r"(a[0]));  // expect: first
#ifndef REPAIRED
  wgmma::wait<0>(sum);
#endif
  wgmma::pin(a);
  for (u32 i = 0; i < 4; ++i) y[128 * i + threadIdx.x] = sum[i] + a[0];
}
