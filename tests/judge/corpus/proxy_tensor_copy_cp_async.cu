// cp.async writes in the generic proxy: waiting for it is not enough for tcgen05.cp.
#include "../scaled.cuh"
#include "warpmill/ptx/cp_async.cuh"

extern "C" __global__ void kernel(const u8* ones, const u8* scales, f32* y) {
  __shared__ ScaledOperands tile;
  __shared__ u64 done;
  __shared__ TensorAddress place;
  const TensorAddress d = begin_scaled(tile, ones, scales, place, done);
  if (threadIdx.x < sizeof tile.b_scales / 16)
    cp_async::copy<16>(SharedAddress(tile.b_scales) + 16 * threadIdx.x, scales + 16 * threadIdx.x);  // expect: second
  cp_async::commit_group();
  cp_async::wait_group<0>();
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
