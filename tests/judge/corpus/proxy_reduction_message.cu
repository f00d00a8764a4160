// Words that red.async added to are stored by a bulk copy: it adds as ordinary instructions do, and no fence lets the
// copy see them. What ordinary stores wrote before needs none for red.async.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
  __shared__ alignas(16) u32 tile[64];
  __shared__ u64 full;
  prepare(full, 1);
  tile[threadIdx.x] = 0;
  if (threadIdx.x == 0) mbarrier::arrive_expect_tx(&full, sizeof tile);
  cluster::sync();
  const u32 peer = cluster::rank() ^ 1;
  const ClusterAddress to = cluster::map(SharedAddress(&tile[threadIdx.x]), peer);
  const ClusterAddress there = cluster::map(SharedAddress(&full), peer);
  cluster::reduce_async<Reduction::add>(to, x[peer * 64 + threadIdx.x], there);  // expect: second
  mbarrier::wait_parity<Scope::cluster>(&full, 0);
  if (threadIdx.x == 0) {
#ifdef REPAIRED
    fence::proxy_async_shared();
#endif
    bulk::store(y + blockIdx.x * 64, tile, sizeof tile);  // expect: first
    bulk::commit_group();
    bulk::wait_group<0>();
  }
  cluster::sync();
}
