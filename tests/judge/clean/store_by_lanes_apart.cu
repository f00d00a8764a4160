// All lanes of a warp store the same tile to the same place twice, and add the same ones; what they waited for before
// may have parted them.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y, u32* sums) {
  __shared__ alignas(16) u32 tile[128], ones[128];
  __shared__ u64 ready;
  prepare(ready, 128);
  tile[threadIdx.x] = x[threadIdx.x];
  ones[threadIdx.x] = 1;
  fence::proxy_async_shared();
  mbarrier::arrive(&ready);
  if (threadIdx.x < 32) {
    mbarrier::wait_parity(&ready, 0);
    for (u32 round = 0; round < 2; ++round) {
      bulk::store(y, tile, sizeof tile);
      bulk::commit_group();
      bulk::wait_group<0>();
      __syncwarp();
    }
    bulk::reduce<Reduction::add>(sums, ones, sizeof ones);
    bulk::commit_group();
    bulk::wait_group<0>();
  }
}
