// The first product has its fence; the sums are scaled by ordinary code, and the next product has none.
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
  f32 sum[4] = {0, 0, 0, 0};
  multiply(sum, tile);
  wgmma::wait<0>(sum);
  for (u32 i = 0; i < 4; ++i) asm volatile("mul.f32 %0, %0, 0f40000000;" : "+f"(sum[i]));  // expect: second
#ifdef REPAIRED
  wgmma::fence();
#endif
  wgmma::multiply<bf16>(sum, descriptor(tile.a), descriptor(tile.b), true);  // expect: first
  wgmma::commit();
  wgmma::wait<0>(sum);
  write(y, sum);
}
