// A tile is copied with a swizzle of 128 bytes and read through a descriptor that says 64.
#include "../wgmma.cuh"

extern "C" __global__ void kernel(const __grid_constant__ TensorMap map, f32* y) {
  __shared__ alignas(1024) u8 a[8192], b[1024];
  __shared__ u64 full;
  prepare(full, 1);
  if (threadIdx.x == 0) {
    mbarrier::arrive_expect_tx(&full, 8192 + 1024);
    tma::load(a, map, {0, 0}, &full);  // expect: second
    bulk::load(b, y, 1024, &full);
  }
  mbarrier::wait_parity(&full, 0);
  f32 sum[4] = {};
  wgmma::fence();
#ifdef REPAIRED
  const auto a_rows = wgmma::descriptor(a, 16, 1024, wgmma::Swizzle::bytes128);
#else
  const auto a_rows = wgmma::descriptor(a, 16, 512, wgmma::Swizzle::bytes64);
#endif
  const auto b_rows = wgmma::descriptor(b, 16, 1024, wgmma::Swizzle::bytes128);
  wgmma::multiply<bf16>(sum, a_rows, b_rows, true);  // expect: first
  wgmma::commit();
  wgmma::wait<0>(sum);
  write(y, sum);
}
