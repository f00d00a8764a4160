// A block writes its peer's shared memory and releases it to the cluster; the peer's wait acquires from its own block
// only.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
  __shared__ u32 tile[64];
  __shared__ u64 full;
  prepare(full, 64);
  cluster::sync();
  const u32 peer = cluster::rank() ^ 1;
  cluster::store(cluster::map(SharedAddress(&tile[threadIdx.x]), peer), x[peer * 64 + threadIdx.x]);  // expect: second
  mbarrier::arrive_remote<Scope::cluster>(cluster::map(SharedAddress(&full), peer));
#ifdef REPAIRED
  mbarrier::wait_parity<Scope::cluster>(&full, 0);
#else
  mbarrier::wait_parity(&full, 0);
#endif
  y[blockIdx.x * 64 + threadIdx.x] = tile[threadIdx.x];  // expect: first
  cluster::sync();
}
