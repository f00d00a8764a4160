// A vector load from an address that is not a multiple of its size.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
#ifdef REPAIRED
  const u32 shift = 0;
#else
  const u32 shift = 1;
#endif
  const uint4 v = *reinterpret_cast<const uint4*>(x + 4 * threadIdx.x + shift);  // expect: first
  y[4 * threadIdx.x] = v.x - shift;
  y[4 * threadIdx.x + 1] = v.y - shift;
  y[4 * threadIdx.x + 2] = v.z - shift;
  y[4 * threadIdx.x + 3] = v.w - shift;
}
