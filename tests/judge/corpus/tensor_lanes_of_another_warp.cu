// Each warp names the lanes of the next one; it gets its own, whatever the address says.
#include "../tensor.cuh"

extern "C" __global__ void kernel(const u32* ones, f32* y) {
  __shared__ Operands tile;
  __shared__ u64 done;
  __shared__ TensorAddress place;
  const TensorAddress d = begin(tile, ones, place, done);
  if (threadIdx.x == 0) multiply(d, tile, done);
  wait(done);
  const u32 warp = threadIdx.x / 32;
#ifdef REPAIRED
  write(y, d.lane(32 * warp));
#else
  write(y, d.lane(32 * ((warp + 1) % 4)));  // expect: first
#endif
  give_back(d);
}
