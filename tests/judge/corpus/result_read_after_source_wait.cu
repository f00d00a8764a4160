// wait_group.read says that the source was read, not that the result was written: the thread reads it back too early.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* z, u32* y) {
  __shared__ alignas(16) u32 tile[128];
  tile[threadIdx.x] = x[threadIdx.x];
  fence::proxy_async_shared();
  __syncthreads();
  if (threadIdx.x == 0) {
    bulk::store(z, tile, sizeof tile);  // expect: second
    bulk::commit_group();
#ifdef REPAIRED
    bulk::wait_group<0>();
#else
    bulk::wait_group_read<0>();
#endif
    for (u32 i = 0; i < 128; ++i) y[i] = z[i];  // expect: first
    bulk::wait_group<0>();
  }
}
