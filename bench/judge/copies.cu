// 32,768 copies of a block in flight at once; the blocks of a cluster share one queue.
#include "warpmill/ptx/cp_async.cuh"

using namespace wm;

extern "C" __global__ void kernel(const u32* x, u32* y) {
  extern __shared__ u32 tile[];
  for (u32 i = threadIdx.x; i < 32768; i += 256) cp_async::copy<4>(SharedAddress(tile + i), x + i);
  cp_async::commit_group();
  cp_async::wait_group<0>();
  __syncthreads();
  y[blockIdx.x * 256 + threadIdx.x] = tile[threadIdx.x];
}
