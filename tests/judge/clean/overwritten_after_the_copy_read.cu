// A tile is written, stored by the copy engine, and handed to the peer with an arrival at block scope: the peer may
// fill it, because what came before the read that is done came before that.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y, u32* z) {
  __shared__ alignas(16) u32 tile[64], sent[64];
  __shared__ u64 empty, full;
  if (threadIdx.x == 0) {
    mbarrier::init(&empty, 1);
    mbarrier::init(&full, 1);
    fence::mbarrier_init();
  }
  cluster::sync();
  if (cluster::rank() == 0) {
    tile[threadIdx.x] = x[threadIdx.x];
    fence::proxy_async_shared();
    __syncthreads();
    if (threadIdx.x == 0) {
      bulk::store(y, tile, sizeof tile);
      bulk::commit_group();
      bulk::wait_group_read<0>();
      mbarrier::arrive_expect_tx(&full, sizeof tile);
      mbarrier::arrive_remote<Scope::block>(cluster::map(SharedAddress(&empty), 1));
    }
    mbarrier::wait_parity(&full, 0);
    z[threadIdx.x] = tile[threadIdx.x];
  } else {
    sent[threadIdx.x] = 5;
    fence::proxy_async_shared();
    __syncthreads();
    if (threadIdx.x == 0) {
      mbarrier::wait_parity(&empty, 0);
      bulk::copy_to_block(cluster::map(SharedAddress(tile), 0), sent, sizeof sent,
                          cluster::map(SharedAddress(&full), 0));
    }
  }
  __syncwarp();
  cluster::sync();
}
