// A loop takes one step too many: what it has loaded ahead comes from a stage that nobody has filled.
#include "../common.cuh"
#include "../read_ahead.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
#ifdef REPAIRED
  constexpr u32 taken = read_ahead::steps;
#else
  constexpr u32 taken = read_ahead::steps + 1;
#endif
  __shared__ u32 ring[4][32];
  read_ahead::fill(ring, x);
  u32 next = read_ahead::load(&ring[0][31 - threadIdx.x]), sum = 0;
#pragma unroll 1
  for (u32 step = 0; step < taken; ++step) {
    sum += next;
    next = read_ahead::load(&ring[step + 1][31 - threadIdx.x]);  // expect: first
  }
  y[threadIdx.x] = sum;
}
