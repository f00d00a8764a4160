// wgmma reads shared memory in the asynchronous proxy: operands written by ordinary stores need the fence.
#include "../wgmma.cuh"

extern "C" __global__ void kernel(const bf16* ones, f32* y) {
  __shared__ Operands tile;
  const u32* from = reinterpret_cast<const u32*>(ones);
  u32* to = reinterpret_cast<u32*>(&tile);
  for (u32 i = threadIdx.x; i < sizeof tile / 4; i += 128) to[i] = from[i];  // expect: second
#ifdef REPAIRED
  fence::proxy_async_shared();
#endif
  __syncthreads();
  f32 sum[4] = {};
  multiply(sum, tile);  // expect: first
  wgmma::wait<0>(sum);
  write(y, sum);
}
