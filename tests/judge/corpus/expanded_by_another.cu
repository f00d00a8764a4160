// One thread expands A into tensor memory, another multiplies: a barrier says that the copy was asked for, not that the
// product comes behind it.
#include "../narrow.cuh"

extern "C" __global__ void kernel(const u8* ones_a, const u8* ones_b, f32* y) {
  __shared__ NarrowOperands tile;
  __shared__ u64 done;
  __shared__ TensorAddress place;
  const TensorAddress d = begin_narrow(tile, ones_a, ones_b, place, done);
  if (threadIdx.x == 32) {
    expand(d + factor_columns, tile.a);  // expect: second
#ifdef REPAIRED
    tcgen05::fence_before_thread_sync();
#endif
  }
  __syncthreads();
#ifdef REPAIRED
  tcgen05::fence_after_thread_sync();
#endif
  if (threadIdx.x == 0) multiply_narrow(d, d + factor_columns, tile, done);  // expect: first
  wait(done);
  write(y, d);
  give_back(d);
}
