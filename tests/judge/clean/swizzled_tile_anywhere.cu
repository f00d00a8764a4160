// A swizzled tile that begins between two patterns: the copy and the product go by the address, and agree.
#include "../wgmma.cuh"

extern "C" __global__ void kernel(const __grid_constant__ TensorMap a_map, const __grid_constant__ TensorMap b_map,
                                  f32* y) {
  __shared__ alignas(1024) u8 space[256 + 8192 + 1024];
  __shared__ u64 full;
  u8 *a = space + 256, *b = a + 8192;
  prepare(full, 1);
  if (threadIdx.x == 0) {
    mbarrier::arrive_expect_tx(&full, 8192 + 1024);
    tma::load(a, a_map, {0, 0}, &full);
    tma::load(b, b_map, {0, 0}, &full);
  }
  mbarrier::wait_parity(&full, 0);
  f32 sum[4] = {};
  wgmma::fence();
  const auto a_rows = wgmma::descriptor(a, 16, 1024, wgmma::Swizzle::bytes128);
  const auto b_rows = wgmma::descriptor(b, 16, 1024, wgmma::Swizzle::bytes128);
  wgmma::multiply<bf16>(sum, a_rows, b_rows, true);
  wgmma::commit();
  wgmma::wait<0>(sum);
  write(y, sum);
}
