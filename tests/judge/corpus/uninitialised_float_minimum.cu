// A minimum of negative numbers takes rows of a tile that nobody wrote: only what is below them shows.
#include "../common.cuh"

extern "C" __global__ void kernel(const f32* x, f32* y) {
  __shared__ f32 tile[128];
#ifdef REPAIRED
  tile[threadIdx.x] = 0;
  __syncthreads();
#endif
  if (threadIdx.x < 100) tile[threadIdx.x] = -x[threadIdx.x];
  __syncthreads();
  f32 least = 0;
  for (u32 i = 0; i < 128; ++i) least = fminf(least, tile[i]);  // expect: first
  y[threadIdx.x] = least;
}
