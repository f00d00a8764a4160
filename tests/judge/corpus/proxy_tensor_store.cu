// The same through a tensor map.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, const __grid_constant__ TensorMap y) {
  __shared__ alignas(128) u32 tile[128];
  tile[threadIdx.x] = x[threadIdx.x];  // expect: second
#ifdef REPAIRED
  fence::proxy_async_shared();
#endif
  __syncthreads();
  if (threadIdx.x == 0) {
    tma::store(y, {0, 0}, tile);  // expect: first
    bulk::commit_group();
    bulk::wait_group<0>();
  }
}
