// Sums lie behind the columns that were allocated.
#include "../tensor.cuh"

extern "C" __global__ void kernel(const u32* ones, f32* y) {
  __shared__ Operands tile;
  __shared__ u64 done;
  __shared__ TensorAddress place;
  const TensorAddress first = begin(tile, ones, place, done);
#ifdef REPAIRED
  const TensorAddress d = first + 16;
#else
  const TensorAddress d = first + columns;
#endif
  if (threadIdx.x == 0) multiply(d, tile, done);  // expect: first
  wait(done);
  write(y, d);
  give_back(first);
}
