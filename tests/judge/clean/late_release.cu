// A stage is given back one step late, when the next product has been issued and all but it are done.
#include "../wgmma.cuh"

extern "C" __global__ void kernel(const bf16* ones, const bf16* twos, f32* y) {
  __shared__ Operands stage[2];
  __shared__ u64 full[2], empty[2];
  prepare(full[0], 1, full[1], 1, empty[0], 1, empty[1], 1);
  if (threadIdx.x < 128) {
    f32 sum[4] = {};
    for (u32 step = 0; step < 2; ++step) {
      mbarrier::wait_parity(&full[step], 0);
      multiply(sum, stage[step]);
      wgmma::wait<1>(sum);
      barrier::sync(1, 128);
      if (step > 0 && threadIdx.x == 0) mbarrier::arrive(&empty[step - 1]);
    }
    wgmma::wait<0>(sum);
    write(y, sum);
  } else if (threadIdx.x == 128) {
    for (u32 step = 0; step < 3; ++step) {
      mbarrier::wait_parity(&empty[step % 2], ~(step / 2) & 1);
      if (step == 2) break;  // the first stage came back: nothing more to load
      mbarrier::arrive_expect_tx(&full[step], sizeof(Operands));
      bulk::load(&stage[step], step == 0 ? ones : twos, sizeof(Operands), &full[step]);
    }
  }
}
