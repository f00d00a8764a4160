// Two pairs of warps use two barriers; one reader waits at its neighbours'.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
  __shared__ u32 tile[128];
  const u32 warp = threadIdx.x / 32;
  tile[threadIdx.x] = x[threadIdx.x];  // expect: second
  barrier::sync(1 + warp / 2, 64);
#ifdef REPAIRED
  const u32 partner = threadIdx.x ^ 32;
#else
  const u32 partner = threadIdx.x ^ 64;
#endif
  y[partner] = tile[partner];  // expect: first
}
