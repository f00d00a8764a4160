// Threads store scales into tensor memory and meet at a barrier, but say nothing of it to the tensor cores.
#include "../scaled.cuh"

extern "C" __global__ void kernel(const u8* ones, const u8* scales, f32* y) {
  __shared__ ScaledOperands tile;
  __shared__ u64 done;
  __shared__ TensorAddress place;
  const TensorAddress d = begin_scaled(tile, ones, scales, place, done);
  const u32 one = 0x7f7f7f7f, words[4] = {one, one, one, one};
  tcgen05::store<tcgen05::Shape::lanes32>(d + scale_columns, words);  // expect: second
  tcgen05::wait_store();
#ifdef REPAIRED
  tcgen05::fence_before_thread_sync();
#endif
  __syncthreads();
#ifdef REPAIRED
  tcgen05::fence_after_thread_sync();
#endif
  if (threadIdx.x == 0) {
    copy_scales(d + scale_columns + 4, tile.b_scales);
    multiply_scaled(d, tile, d + scale_columns, done);  // expect: first
  }
  wait(done);
  write(y, d);
  give_back(d);
}
