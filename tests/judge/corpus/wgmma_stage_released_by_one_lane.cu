// All lanes of a warp read a stage's scale; after the product one of them gives the stage back.
#include "../wgmma.cuh"

extern "C" __global__ void kernel(const bf16* ones, const f32* scales, f32* y) {
  __shared__ Operands tile;
  __shared__ alignas(16) f32 scale[4];
  __shared__ u64 full, empty;
  prepare(full, 1, empty, 4);
  if (threadIdx.x < 128) {
    f32 sum[4] = {};
    f32 factor = 0;
    for (u32 step = 0; step < 2; ++step) {
      mbarrier::wait_parity(&full, step & 1);
      factor += scale[threadIdx.x % 4];  // expect: second
      multiply(sum, tile);
      wgmma::wait<0>(sum);
#ifdef REPAIRED
      __syncwarp();
#endif
      if (threadIdx.x % 32 == 0) mbarrier::arrive(&empty);
    }
    for (f32& s : sum) s *= factor;
    write(y, sum);
  } else if (threadIdx.x == 128) {
    for (u32 step = 0; step < 2; ++step) {
      mbarrier::wait_parity(&empty, ~step & 1);
      mbarrier::arrive_expect_tx(&full, sizeof tile + sizeof scale);
      bulk::load(&tile, ones, sizeof tile, &full);
      bulk::load(scale, scales + 4 * step, sizeof scale, &full);  // expect: first
    }
  }
}
