// A swizzled wgmma operand whose 8-row groups do not start at a multiple of 1024 bytes.
#include "../wgmma.cuh"

extern "C" __global__ void kernel(const bf16* ones, f32* y) {
  extern __shared__ __align__(1024) u8 space[];
#ifdef REPAIRED
  u8* a = space;
#else
  u8* a = space + 256;
#endif
  u8* b = space + 12288;
  __shared__ u64 full;
  prepare(full, 1);
  if (threadIdx.x == 0) {
    mbarrier::arrive_expect_tx(&full, 8192 + 1024);
    bulk::load(a, ones, 8192, &full);
    bulk::load(b, ones, 1024, &full);
  }
  mbarrier::wait_parity(&full, 0);
  f32 sum[4] = {};
  wgmma::fence();
  const auto a_rows = wgmma::descriptor(a, 16, 1024, wgmma::Swizzle::bytes128);
  const auto b_rows = wgmma::descriptor(b, 16, 1024, wgmma::Swizzle::bytes128);
  wgmma::multiply<bf16>(sum, a_rows, b_rows, true);  // expect: first
  wgmma::commit();
  wgmma::wait<0>(sum);
  write(y, sum);
}
