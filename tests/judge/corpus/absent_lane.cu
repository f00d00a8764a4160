// A shuffle reads lanes that returned before it.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
#ifdef REPAIRED
  constexpr u32 count = 32;
#else
  constexpr u32 count = 24;
#endif
  if (threadIdx.x >= count) return;
  const u32 value = x[threadIdx.x];
  const u32 other = __shfl_xor_sync((1ull << count) - 1, value, 8);  // expect: first
  y[threadIdx.x] = value + other - (2 * (threadIdx.x & ~8) + 8);
}
