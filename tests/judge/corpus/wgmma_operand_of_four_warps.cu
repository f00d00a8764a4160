// Four warps write an operand and multiply, with nothing that brings them together but wgmma.
#include "../wgmma.cuh"

extern "C" __global__ void kernel(const u32* ones, f32* y) {
  __shared__ Operands tile;
  u32* words = reinterpret_cast<u32*>(&tile);
  for (u32 i = threadIdx.x; i < sizeof tile / 4; i += 128) words[i] = ones[i];  // expect: second
  fence::proxy_async_shared();
#ifdef REPAIRED
  barrier::sync(1, 128);
#endif
  f32 sum[4] = {};
  multiply(sum, tile);  // expect: first
  wgmma::wait<0>(sum);
  write(y, sum);
}
