// ldmatrix is for the whole warp; half of it is elsewhere.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
  __shared__ alignas(16) u32 tile[32];
  tile[threadIdx.x] = x[threadIdx.x];
  __syncwarp();
  u32 word[1] = {};
#ifdef REPAIRED
  ldmatrix::load(word, &tile[threadIdx.x % 8 * 4]);
  y[threadIdx.x] = word[0];
#else
  if (threadIdx.x < 16) {
    ldmatrix::load(word, &tile[threadIdx.x % 8 * 4]);  // expect: first
    y[threadIdx.x] = word[0];
  } else {
    y[threadIdx.x] = tile[threadIdx.x];
  }
#endif
}
