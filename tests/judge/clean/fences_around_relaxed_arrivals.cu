// A fence before a relaxed arrival releases, a fence behind a wait that reaches less far acquires.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
  __shared__ u32 tile[64];
  __shared__ u64 full;
  prepare(full, 64);
  cluster::sync();
  const u32 peer = cluster::rank() ^ 1;
  cluster::store(cluster::map(SharedAddress(&tile[threadIdx.x]), peer), x[peer * 64 + threadIdx.x]);
  fence::acquire_release<Scope::cluster>();
  asm volatile("mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [%0];" ::"r"(
                   cluster::map(SharedAddress(&full), peer).value)
               : "memory");
  mbarrier::wait_parity(&full, 0);
  fence::acquire_release<Scope::cluster>();
  y[blockIdx.x * 64 + threadIdx.x] = tile[threadIdx.x];
  cluster::sync();
}
