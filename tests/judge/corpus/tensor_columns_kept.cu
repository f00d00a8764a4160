// The block ends with columns that it has not given back.
#include "../tensor.cuh"

extern "C" __global__ void kernel(const u32* ones, f32* y) {
  __shared__ Operands tile;
  __shared__ u64 done;
  __shared__ TensorAddress place;
  const TensorAddress d = begin(tile, ones, place, done);
  if (threadIdx.x == 0) multiply(d, tile, done);
  wait(done);
  write(y, d);
#ifdef REPAIRED
  give_back(d);
#endif
}  // expect: first
