// A block writes its peer's shared memory; the peer waits at a barrier of its own block only.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
  __shared__ u32 tile[64];
  cluster::sync();
  const u32 peer = cluster::rank() ^ 1;
  cluster::store(cluster::map(SharedAddress(&tile[threadIdx.x]), peer), x[peer * 64 + threadIdx.x]);  // expect: second
#ifdef REPAIRED
  cluster::sync();
#else
  __syncthreads();
#endif
  y[blockIdx.x * 64 + threadIdx.x] = tile[threadIdx.x];  // expect: first
  cluster::sync();
}
