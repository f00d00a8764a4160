// Operands are overwritten while the product may still read them.
#include "../tensor.cuh"

extern "C" __global__ void kernel(const u32* ones, f32* y) {
  __shared__ Operands tile;
  __shared__ u64 done;
  __shared__ TensorAddress place;
  const TensorAddress d = begin(tile, ones, place, done);
  if (threadIdx.x == 0) multiply(d, tile, done);  // expect: second
#ifdef REPAIRED
  wait(done);
  fill(tile, ones);
#else
  __syncthreads();
  fill(tile, ones);  // expect: first
  wait(done);
#endif
  write(y, d);
  give_back(d);
}
