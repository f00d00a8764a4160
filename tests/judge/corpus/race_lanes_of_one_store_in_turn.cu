// The lanes of a warp store to one address with one instruction, one after the other, and nothing orders them.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
  __shared__ u32 last;
#pragma unroll 1
  for (u32 turn = 0; turn < 4; ++turn) {
    if (threadIdx.x == turn) last = x[turn];  // expect: first
#ifdef REPAIRED
    __syncwarp();
#endif
  }
  __syncthreads();
  y[threadIdx.x] = x[threadIdx.x] + (last > 1000);
}
