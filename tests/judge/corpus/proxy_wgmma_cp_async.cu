// cp.async writes in the generic proxy: waiting for it is not enough for wgmma.
#include "../wgmma.cuh"

extern "C" __global__ void kernel(const bf16* ones, f32* y) {
  __shared__ Operands tile;
  for (u32 i = threadIdx.x; i < sizeof tile / 16; i += 128)
    cp_async::copy<16>(SharedAddress(&tile) + 16 * i, ones + 8 * i);  // expect: second
  cp_async::commit_group();
  cp_async::wait_group<0>();
#ifdef REPAIRED
  fence::proxy_async_shared();
#endif
  __syncthreads();
  f32 sum[4] = {};
  multiply(sum, tile);  // expect: first
  wgmma::wait<0>(sum);
  write(y, sum);
}
