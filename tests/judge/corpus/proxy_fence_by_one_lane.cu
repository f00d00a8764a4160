// One warp writes, and its first lane alone runs the fence: it orders that lane's stores and no others.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
  __shared__ alignas(16) u32 tile[32];
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
