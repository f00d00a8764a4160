// The next scales are stored while the product may still read these.
#include "../scaled.cuh"

extern "C" __global__ void kernel(const u8* ones, const u8* scales, f32* y) {
  __shared__ ScaledOperands tile;
  __shared__ u64 done;
  __shared__ TensorAddress place;
  const TensorAddress d = begin_scaled(tile, ones, scales, place, done);
  if (threadIdx.x == 0) {
    copy_scales(d + scale_columns, tile.a_scales);
    copy_scales(d + scale_columns + 4, tile.b_scales);
    multiply_scaled(d, tile, d + scale_columns, done);  // expect: second
  }
#ifdef REPAIRED
  wait(done);
#else
  __syncthreads();
#endif
  const u32 next[1] = {0x7f7f7f7f};
  tcgen05::store<tcgen05::Shape::lanes32>(d + scale_columns, next);  // expect: first
  tcgen05::wait_store();
  wait(done);
  write(y, d);
  give_back(d);
}
