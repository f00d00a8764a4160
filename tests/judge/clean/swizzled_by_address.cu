// Threads that swizzle by the address, as copies do, in rows that they count and in rows that the compiler knows: the
// tile may begin anywhere.
#include "../common.cuh"

extern "C" __global__ void kernel(const __grid_constant__ TensorMap from, const __grid_constant__ TensorMap to) {
  __shared__ alignas(1024) u32 space[4096];
  __shared__ u64 full;
  u32 *loaded = space + 32, *stored = space + 2048 + 96;
  prepare(full, 1);
  if (threadIdx.x == 0) {
    mbarrier::arrive_expect_tx(&full, 4096);
    tma::load(loaded, from, {0, 0}, &full);
  }
  mbarrier::wait_parity(&full, 0);
  const auto swizzled = [](u32* word) {
    const u64 address = reinterpret_cast<u64>(word);
    return reinterpret_cast<u32*>(address ^ (address >> 3 & 0x70));
  };
  for (u32 i = threadIdx.x; i < 512; i += 128) *swizzled(stored + i) = *swizzled(loaded + i);
  if (threadIdx.x < 32) {
#pragma unroll
    for (u32 i = 512; i < 1024; i += 32) *swizzled(stored + i + threadIdx.x) = *swizzled(loaded + i + threadIdx.x);
  }
  fence::proxy_async_shared();
  __syncthreads();
  if (threadIdx.x == 0) {
    tma::store(to, {0, 0}, stored);
    bulk::commit_group();
    bulk::wait_group<0>();
  }
}
