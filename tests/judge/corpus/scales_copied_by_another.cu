// One thread copies scales to tensor memory, another multiplies: a barrier says that the copy was asked for, not that
// the product comes behind it.
#include "../scaled.cuh"

extern "C" __global__ void kernel(const u8* ones, const u8* scales, f32* y) {
  __shared__ ScaledOperands tile;
  __shared__ u64 done;
  __shared__ TensorAddress place;
  const TensorAddress d = begin_scaled(tile, ones, scales, place, done);
  if (threadIdx.x == 32) {
    copy_scales(d + scale_columns, tile.a_scales);  // expect: second
    copy_scales(d + scale_columns + 4, tile.b_scales);
#ifdef REPAIRED
    tcgen05::fence_before_thread_sync();
#endif
  }
  __syncthreads();
#ifdef REPAIRED
  tcgen05::fence_after_thread_sync();
#endif
  if (threadIdx.x == 0) multiply_scaled(d, tile, d + scale_columns, done);  // expect: first
  wait(done);
  write(y, d);
  give_back(d);
}
