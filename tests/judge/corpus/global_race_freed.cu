// Two threads store to memory of the heap, and one of them frees it: the other may come too late.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
  __shared__ u32* space;
  if (threadIdx.x == 0) space = static_cast<u32*>(malloc(sizeof(u32)));
  __syncthreads();
#ifdef REPAIRED
  if (threadIdx.x == 32) *space = x[1];
  __syncthreads();
#else
  if (threadIdx.x == 32) *space = x[1];  // expect: first
#endif
  if (threadIdx.x == 0) {
    *space = x[2];  // expect: second
    y[0] = 7;
    free(space);
  }
}
