// The source of a bulk store is overwritten before the store has read it.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
  __shared__ alignas(16) u32 tile[128];
  for (u32 i = 0; i < 2; ++i) {
    tile[threadIdx.x] = x[128 * i + threadIdx.x];  // expect: first
    fence::proxy_async_shared();
    __syncthreads();
    if (threadIdx.x == 0) {
      bulk::store(y + 128 * i, tile, sizeof tile);  // expect: second
      bulk::commit_group();
#ifdef REPAIRED
      bulk::wait_group_read<0>();
#endif
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) bulk::wait_group<0>();
}
