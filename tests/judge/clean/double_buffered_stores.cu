// Two buffers for bulk stores: the thread that issued them waits until all but the newest have read theirs.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
  __shared__ alignas(16) u32 tile[2][128];
  for (u32 i = 0; i < 4; ++i) {
    if (threadIdx.x == 0) bulk::wait_group_read<1>();
    __syncthreads();
    tile[i % 2][threadIdx.x] = x[128 * i + threadIdx.x];
    fence::proxy_async_shared();
    __syncthreads();
    if (threadIdx.x == 0) {
      bulk::store(y + 128 * i, tile[i % 2], sizeof tile[0]);
      bulk::commit_group();
    }
  }
  if (threadIdx.x == 0) bulk::wait_group<0>();
}
