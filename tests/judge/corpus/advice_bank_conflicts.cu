// A column of a tile whose rows are 32 words: every lane hits one bank.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
#ifdef REPAIRED
  __shared__ u32 tile[32][33];
#else
  __shared__ u32 tile[32][32];
#endif
  for (u32 i = threadIdx.x; i < 1024; i += 128) tile[i % 32][i / 32] = x[i];  // expect: first
  __syncthreads();
  for (u32 i = threadIdx.x; i < 1024; i += 128) y[i] = tile[i % 32][i / 32];
}
