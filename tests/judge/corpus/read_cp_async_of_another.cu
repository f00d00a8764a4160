// Each thread waits for its own cp.async and reads its neighbour's.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
  __shared__ u32 tile[128];
  cp_async::copy<4>(tile + threadIdx.x, x + threadIdx.x);  // expect: second
  cp_async::commit_group();
  cp_async::wait_group<0>();
#ifdef REPAIRED
  __syncthreads();
#endif
  y[127 - threadIdx.x] = tile[127 - threadIdx.x];  // expect: first
}
