// barrier.cluster.arrive.relaxed passes no data on.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
  __shared__ u32 tile[64];
  tile[threadIdx.x] = x[blockIdx.x * 64 + threadIdx.x];  // expect: second
#ifdef REPAIRED
  cluster::arrive();
#else
  cluster::arrive_relaxed();
#endif
  cluster::wait();
  const u32 peer = cluster::rank() ^ 1;
  y[peer * 64 + threadIdx.x] =
      cluster::load<u32>(cluster::map(SharedAddress(&tile[threadIdx.x]), peer));  // expect: first
  cluster::sync();
}
