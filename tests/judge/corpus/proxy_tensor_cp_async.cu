// cp.async writes in the generic proxy: waiting for it is not enough for tcgen05.mma.
#include "../tensor.cuh"
#include "warpmill/ptx/cp_async.cuh"

extern "C" __global__ void kernel(const u32* ones, f32* y) {
  __shared__ Operands tile;
  __shared__ u64 done;
  __shared__ TensorAddress place;
  for (u32 i = threadIdx.x; i < sizeof tile / 16; i += 128)
    cp_async::copy<16>(SharedAddress(&tile) + 16 * i, ones + 4 * i);  // expect: second
  cp_async::commit_group();
  cp_async::wait_group<0>();
#ifdef REPAIRED
  fence::proxy_async_shared();
#endif
  const TensorAddress d = allocate(place, done);
  if (threadIdx.x == 0) multiply(d, tile, done);  // expect: first
  wait(done);
  write(y, d);
  give_back(d);
}
