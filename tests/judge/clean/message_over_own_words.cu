// st.async overwrites what ordinary stores wrote: both are of the generic proxy, so a barrier between them is enough.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
  __shared__ u32 tile[64];
  __shared__ u64 full;
  prepare(full, 1);
  tile[threadIdx.x] = 0;
  if (threadIdx.x == 0) mbarrier::arrive_expect_tx(&full, sizeof tile);
  cluster::sync();
  const u32 peer = cluster::rank() ^ 1;
  cluster::store_async(cluster::map(SharedAddress(&tile[threadIdx.x]), peer), x[peer * 64 + threadIdx.x],
                       cluster::map(SharedAddress(&full), peer));
  mbarrier::wait_parity<Scope::cluster>(&full, 0);
  y[blockIdx.x * 64 + threadIdx.x] = tile[threadIdx.x];
  cluster::sync();
}
