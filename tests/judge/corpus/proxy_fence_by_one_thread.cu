// Only the storing thread runs the fence, and before the barrier: it covers its own store to the tile and no other.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
  __shared__ alignas(16) u32 tile[128];
  tile[threadIdx.x] = x[threadIdx.x];  // expect: second
#ifdef REPAIRED
  fence::proxy_async_shared();
#else
  if (threadIdx.x == 0) fence::proxy_async_shared();
#endif
  __syncthreads();
  if (threadIdx.x == 0) {
    bulk::store(y, tile, sizeof tile);  // expect: first
    bulk::commit_group();
    bulk::wait_group<0>();
  }
}
