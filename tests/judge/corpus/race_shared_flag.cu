// A flag in shared memory set with a relaxed atomic and no fence: the data may come later.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
  __shared__ u32 tile[32];
  __shared__ u32 flag;
  const u32 lane = threadIdx.x % 32;
  if (threadIdx.x == 0) flag = 0;
  __syncthreads();
  if (threadIdx.x < 32) {
    tile[lane] = x[lane];  // expect: second
    __syncwarp();
#ifdef REPAIRED
    __threadfence_block();
#endif
    if (lane == 0) atomicExch(&flag, 1);
  } else {
    while (atomicAdd(&flag, 0) == 0) {
    }
    __threadfence_block();
    y[lane] = tile[lane];  // expect: first
  }
}
