// The fence comes before the writes it should cover.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
  __shared__ alignas(16) u32 tile[128];
#ifndef REPAIRED
  fence::proxy_async_shared();
#endif
  tile[threadIdx.x] = x[threadIdx.x];  // expect: second
#ifdef REPAIRED
  fence::proxy_async_shared();
#endif
  __syncthreads();
  if (threadIdx.x == 0) {
    bulk::store(y, tile, sizeof tile);  // expect: first
    bulk::commit_group();
    bulk::wait_group<0>();
  }
}
