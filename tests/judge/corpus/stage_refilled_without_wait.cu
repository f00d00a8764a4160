// The producer refills a stage that a wgmma may still be reading: it never waits for the consumers.
#include "../wgmma.cuh"

extern "C" __global__ void kernel(const bf16* ones, const bf16* twos, f32* y) {
  __shared__ Operands tile;
  __shared__ u64 full[2], empty;
  prepare(full[0], 1, full[1], 1, empty, 4);
  if (threadIdx.x < 128) {
    f32 sum[4] = {};
    for (u32 step = 0; step < 2; ++step) {
      mbarrier::wait_parity(&full[step], 0);
      multiply(sum, tile);  // expect: second
      wgmma::wait<0>(sum);
      if (threadIdx.x % 32 == 0) mbarrier::arrive(&empty);
    }
    write(y, sum);
  } else if (threadIdx.x == 128) {
    for (u32 step = 0; step < 2; ++step) {
#ifdef REPAIRED
      mbarrier::wait_parity(&empty, ~step & 1);
#endif
      mbarrier::arrive_expect_tx(&full[step], sizeof tile);
      bulk::load(&tile, step == 0 ? ones : twos, sizeof tile, &full[step]);  // expect: first
    }
  }
}
