// A block reads its peer's shared memory; nothing keeps the peer from exiting first.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
  __shared__ u32 tile[64];
  tile[threadIdx.x] = x[threadIdx.x];
  cluster::sync();
  if (cluster::rank() == 0)
    y[threadIdx.x] = cluster::load<u32>(cluster::map(SharedAddress(&tile[threadIdx.x]), 1));  // expect: first
#ifdef REPAIRED
  cluster::sync();
#endif
}
