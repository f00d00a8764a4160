// st.async brings words from another block; the wait acquires from this block only.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
  __shared__ u32 tile[64];
  __shared__ u64 full;
  prepare(full, 1);
  if (threadIdx.x == 0) mbarrier::arrive_expect_tx(&full, sizeof tile);
  cluster::sync();
  const u32 peer = cluster::rank() ^ 1;
  const ClusterAddress to = cluster::map(SharedAddress(&tile[threadIdx.x]), peer);
  const ClusterAddress there = cluster::map(SharedAddress(&full), peer);
  cluster::store_async(to, x[peer * 64 + threadIdx.x], there);  // expect: second
#ifdef REPAIRED
  mbarrier::wait_parity<Scope::cluster>(&full, 0);
#else
  mbarrier::wait_parity(&full, 0);
#endif
  y[blockIdx.x * 64 + threadIdx.x] = tile[threadIdx.x];  // expect: first
  cluster::sync();
}
