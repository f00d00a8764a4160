// Columns are given back twice.
#include "../tensor.cuh"

extern "C" __global__ void kernel(const u32* ones, f32* y) {
  __shared__ Operands tile;
  __shared__ u64 done;
  __shared__ TensorAddress place;
  const TensorAddress d = begin(tile, ones, place, done);
  if (threadIdx.x == 0) multiply(d, tile, done);
  wait(done);
  write(y, d);
  give_back(d);
#ifndef REPAIRED
  if (first_warp()) tcgen05::free<1>(d, columns);  // expect: first
#endif
}
