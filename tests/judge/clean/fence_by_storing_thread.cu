// The barrier first, then the storing thread fences for all it has seen.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
  __shared__ alignas(16) u32 tile[128];
  tile[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  if (threadIdx.x == 0) {
    fence::proxy_async_shared();
    bulk::store(y, tile, sizeof tile);
    bulk::commit_group();
    bulk::wait_group<0>();
  }
}
