// Counters spread over the shared memory of two blocks, added to from both.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
  __shared__ u32 count[32];
  if (threadIdx.x < 32) count[threadIdx.x] = 0;
  cluster::sync();
  const u32 value = x[blockIdx.x * 128 + threadIdx.x] % 64;
  cluster::fetch_add(cluster::map(SharedAddress(&count[value % 32]), value / 32), 1);
  cluster::sync();
  if (threadIdx.x < 32) y[blockIdx.x * 32 + threadIdx.x] = count[threadIdx.x];
}
