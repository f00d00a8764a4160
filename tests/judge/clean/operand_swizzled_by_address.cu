// An operand between two patterns that threads swizzle by the address, as the product reads it.
#include "../wgmma.cuh"

extern "C" __global__ void kernel(const u32* ones, f32* y) {
  __shared__ alignas(1024) u8 space[256 + 8192 + 1024];
  u8 *a = space + 256, *b = a + 8192;
  const auto swizzled = [](u8* word) {
    const u64 address = reinterpret_cast<u64>(word);
    return reinterpret_cast<u32*>(address ^ (address >> 3 & 0x70));
  };
  for (u32 i = threadIdx.x; i < 2304; i += 128) *swizzled(a + 4 * i) = ones[i];
  fence::proxy_async_shared();
  __syncthreads();
  f32 sum[4] = {};
  wgmma::fence();
  const auto a_rows = wgmma::descriptor(a, 16, 1024, wgmma::Swizzle::bytes128);
  const auto b_rows = wgmma::descriptor(b, 16, 1024, wgmma::Swizzle::bytes128);
  wgmma::multiply<bf16>(sum, a_rows, b_rows, true);
  wgmma::commit();
  wgmma::wait<0>(sum);
  write(y, sum);
}
