// A second allocation is larger than the first.
#include "../tensor.cuh"

extern "C" __global__ void kernel(const u32* ones, f32* y) {
  __shared__ Operands tile;
  __shared__ u64 done;
  __shared__ TensorAddress place;
#ifdef REPAIRED
  constexpr u32 more = columns;
#else
  constexpr u32 more = 2 * columns;
#endif
  __shared__ TensorAddress second;
  const TensorAddress d = begin(tile, ones, place, done);
  if (first_warp()) tcgen05::allocate<1>(&second, more);  // expect: first
  if (threadIdx.x == 0) multiply(d, tile, done);
  wait(done);
  write(y, d);
  give_back(d);
  if (first_warp()) tcgen05::free<1>(second, more);
}
