// A wait counts committed groups: the store before it was never committed.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
  __shared__ alignas(16) u32 tile[128];
  for (u32 i = 0; i < 2; ++i) {
    tile[threadIdx.x] = x[128 * i + threadIdx.x];  // expect: first
    fence::proxy_async_shared();
    __syncthreads();
    if (threadIdx.x == 0) {
      bulk::store(y + 128 * i, tile, sizeof tile);  // expect: second
#ifdef REPAIRED
      bulk::commit_group();
#endif
      bulk::wait_group_read<0>();
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    bulk::commit_group();
    bulk::wait_group<0>();
  }
}
