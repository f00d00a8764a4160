// The two halves of a warp reach an .aligned barrier from two branches.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
  __shared__ u32 tile[128];
  tile[threadIdx.x] = x[threadIdx.x];
#ifdef REPAIRED
  barrier::sync(1, 128);
#else
  if (threadIdx.x % 32 < 16)
    asm volatile("barrier.sync.aligned 1, 128; // low half" ::: "memory");  // expect: first
  else
    asm volatile("barrier.sync.aligned 1, 128; // high half" ::: "memory");
#endif
  y[127 - threadIdx.x] = tile[127 - threadIdx.x];
}
