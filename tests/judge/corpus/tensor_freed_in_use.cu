// Columns are given back while the product may still write them.
#include "../tensor.cuh"

extern "C" __global__ void kernel(const u32* ones, f32* y) {
  __shared__ Operands tile;
  __shared__ u64 done;
  __shared__ TensorAddress place;
  const TensorAddress d = begin(tile, ones, place, done);
  if (threadIdx.x == 0) multiply(d, tile, done);  // expect: second
  for (u32 i = 0; i < 16; ++i) y[16 * threadIdx.x + i] = 16;
#ifdef REPAIRED
  wait(done);
#endif
  give_back(d);  // expect: first
  wait(done);
}
