// Threads change the scales in shared memory, and nothing makes that visible to the copy.
#include "../scaled.cuh"

extern "C" __global__ void kernel(const u8* ones, const u8* scales, f32* y) {
  __shared__ ScaledOperands tile;
  __shared__ u64 done;
  __shared__ TensorAddress place;
  const TensorAddress d = begin_scaled(tile, ones, scales, place, done);
  for (u32 i = threadIdx.x; i < sizeof tile.b_scales; i += 128) tile.b_scales[i] = 127;  // expect: second
#ifdef REPAIRED
  fence::proxy_async_shared();
#endif
  __syncthreads();
  if (threadIdx.x == 0) {
    copy_scales(d + scale_columns, tile.a_scales);
    copy_scales(d + scale_columns + 4, tile.b_scales);  // expect: first
    multiply_scaled(d, tile, d + scale_columns, done);
  }
  wait(done);
  write(y, d);
  give_back(d);
}
