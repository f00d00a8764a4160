// The next scales are written over those that the copy to tensor memory may still read.
#include "../scaled.cuh"

extern "C" __global__ void kernel(const u8* ones, const u8* scales, f32* y) {
  __shared__ ScaledOperands tile;
  __shared__ u64 done;
  __shared__ TensorAddress place;
  const TensorAddress d = begin_scaled(tile, ones, scales, place, done);
  if (threadIdx.x == 0) {
    copy_scales(d + scale_columns, tile.a_scales);  // expect: second
    copy_scales(d + scale_columns + 4, tile.b_scales);
    multiply_scaled(d, tile, d + scale_columns, done);
  }
#ifdef REPAIRED
  wait(done);
#else
  __syncthreads();
#endif
  tile.a_scales[threadIdx.x] = 128;  // expect: first
  wait(done);
  write(y, d);
  give_back(d);
}
