// The next A is expanded into the columns that a product may still read.
#include "../narrow.cuh"

extern "C" __global__ void kernel(const u8* ones_a, const u8* ones_b, f32* y) {
  __shared__ NarrowOperands tile;
  __shared__ u64 done;
  __shared__ TensorAddress place;
  const TensorAddress d = begin_narrow(tile, ones_a, ones_b, place, done);
  if (threadIdx.x == 0) {
    expand(d + factor_columns, tile.a);
    multiply_narrow(d, d + factor_columns, tile, done);  // expect: second
  }
#ifdef REPAIRED
  wait(done);
#else
  __syncthreads();
#endif
  __shared__ u64 expanded;
  prepare(expanded, 1);
  if (threadIdx.x == 32) {
    expand(d + factor_columns, tile.a);  // expect: first
    tcgen05::commit<1>(SharedAddress(&expanded));
  }
  wait(done);
  wait(expanded);
  write(y, d);
  give_back(d);
}
