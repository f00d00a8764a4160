// A block that ends while the copy engine may still be reading its shared memory.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
  __shared__ alignas(16) u32 tile[128];
  tile[threadIdx.x] = x[threadIdx.x];
  fence::proxy_async_shared();
  __syncthreads();
  if (threadIdx.x == 0) {
    bulk::store(y, tile, sizeof tile);  // expect: first
    bulk::commit_group();
#ifdef REPAIRED
    bulk::wait_group_read<0>();
#endif
  }
}
