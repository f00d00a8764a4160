// What a kernel's malloc gives is read before anybody has written it.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
  u32* const own = static_cast<u32*>(malloc(sizeof(u32)));
#ifdef REPAIRED
  *own = 0;
#endif
  y[threadIdx.x] = x[threadIdx.x] + *own;  // expect: first
  free(own);
}
