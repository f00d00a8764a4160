// The first product adds to sums that nobody has written.
#include "../tensor.cuh"

extern "C" __global__ void kernel(const u32* ones, f32* y) {
  __shared__ Operands tile;
  __shared__ u64 done;
  __shared__ TensorAddress place;
  const TensorAddress d = begin(tile, ones, place, done);
#ifdef REPAIRED
  if (threadIdx.x == 0) multiply(d, tile, done, false);
#else
  if (threadIdx.x == 0) multiply(d, tile, done, true);  // expect: first
#endif
  wait(done);
  write(y, d);
  give_back(d);
}
