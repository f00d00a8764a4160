// Threads swizzle a tile by its own rows, and a store takes it by its address, which is no multiple of the pattern.
#include "../common.cuh"

extern "C" __global__ void kernel(const __grid_constant__ TensorMap map, const u32* x) {
  __shared__ alignas(1024) u32 space[2048];
#ifdef REPAIRED
  u32* tile = space;
#else
  u32* tile = space + 32;
#endif
  for (u32 i = threadIdx.x; i < 1024; i += 128) {
    const u32 row = i / 32, column = i % 32;
    tile[row * 32 + (column ^ row % 8 * 4)] = x[i];
  }
  fence::proxy_async_shared();
  __syncthreads();
  if (threadIdx.x == 0) {
    tma::store(map, {0, 0}, tile);  // expect: first
    bulk::commit_group();
    bulk::wait_group<0>();
  }
}
