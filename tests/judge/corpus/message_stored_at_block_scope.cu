// st.async brings words from another block; who stores them fences, and has waited at the scope of its own block.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
  __shared__ alignas(16) u32 tile[32];
  __shared__ u64 full;
  prepare(full, 1);
  if (threadIdx.x == 0) mbarrier::arrive_expect_tx(&full, sizeof tile);
  cluster::sync();
  const u32 peer = cluster::rank() ^ 1;
  const ClusterAddress to = cluster::map(SharedAddress(&tile[threadIdx.x]), peer);
  const ClusterAddress there = cluster::map(SharedAddress(&full), peer);
  cluster::store_async(to, x[peer * 32 + threadIdx.x], there);  // expect: second
  if (threadIdx.x == 0) {
#ifdef REPAIRED
    mbarrier::wait_parity<Scope::cluster>(&full, 0);
#else
    mbarrier::wait_parity(&full, 0);
#endif
    fence::proxy_async_shared();
    bulk::store(y + blockIdx.x * 32, tile, sizeof tile);  // expect: first
    bulk::commit_group();
    bulk::wait_group<0>();
  }
  cluster::sync();
}
