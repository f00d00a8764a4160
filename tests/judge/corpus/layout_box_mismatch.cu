// A tile without swizzle is copied in rows of 32 bytes; a product takes core matrices, whose rows are 16 bytes.
#include "../wgmma.cuh"

extern "C" __global__ void kernel(const __grid_constant__ TensorMap rows, const __grid_constant__ TensorMap columns,
                                  f32* y) {
  __shared__ alignas(1024) u8 a[2048], b[256];
  __shared__ u64 full;
  prepare(full, 1);
  if (threadIdx.x == 0) {
    mbarrier::arrive_expect_tx(&full, sizeof a + sizeof b);
#ifdef REPAIRED
    tma::load(a, columns, {0, 0}, &full);
    tma::load(a + 1024, columns, {8, 0}, &full);
#else
    tma::load(a, rows, {0, 0}, &full);  // expect: second
#endif
    bulk::load(b, y, sizeof b, &full);
  }
  mbarrier::wait_parity(&full, 0);
  f32 sum[4] = {};
  wgmma::fence();
  const auto a_rows = wgmma::descriptor(a, 1024, 128, wgmma::Swizzle::none);
  const auto b_rows = wgmma::descriptor(b, 128, 256, wgmma::Swizzle::none);
  wgmma::multiply<bf16>(sum, a_rows, b_rows, true);  // expect: first
  wgmma::commit();
  wgmma::wait<0>(sum);
  write(y, sum);
}
