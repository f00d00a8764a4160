// A block allocates after it has said that it will not.
#include "../tensor.cuh"

extern "C" __global__ void kernel(const u32* ones, f32* y) {
  __shared__ Operands tile;
  __shared__ u64 done;
  __shared__ TensorAddress place;
  if (first_warp()) {
#ifndef REPAIRED
    tcgen05::allocate_no_more<1>();
#endif
    tcgen05::allocate<1>(&place, columns);  // expect: first
#ifdef REPAIRED
    tcgen05::allocate_no_more<1>();
#endif
  }
  fill(tile, ones);
  prepare(done, 1);
  tcgen05::fence_after_thread_sync();
  const TensorAddress d = place;
  if (threadIdx.x == 0) multiply(d, tile, done);
  wait(done);
  write(y, d);
  give_back(d);
}
