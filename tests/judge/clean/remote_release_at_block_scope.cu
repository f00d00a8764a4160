// A stage filled by multicast is handed back to the loading block with a plain arrival on its barrier (release at block
// scope): what is handed back was only read.
#include "../wgmma.cuh"

WM_DEVICE void arrive_in_block(u64* barrier, u32 rank) {
  asm volatile(
      "{.reg .b32 remote; mapa.shared::cluster.u32 remote, %0, %1;"
      " mbarrier.arrive.shared::cluster.b64 _, [remote];}" ::"r"(SharedAddress(barrier).value),
      "r"(rank));
}

extern "C" __global__ void kernel(const bf16* ones, const bf16* twos, f32* y) {
  __shared__ Operands tile;
  __shared__ u64 full, empty;
  if (threadIdx.x == 0) {
    mbarrier::init(&full, 1);
    mbarrier::init(&empty, 8);
    fence::mbarrier_init();
  }
  cluster::arrive_relaxed();
  cluster::wait();
  if (threadIdx.x < 128) {
    f32 sum[4] = {};
    for (u32 step = 0; step < 2; ++step) {
      mbarrier::wait_parity(&full, step & 1);
      multiply(sum, tile);
      wgmma::wait<0>(sum);
      if (threadIdx.x % 32 == 0) arrive_in_block(&empty, 0);
    }
    write(y + 512 * blockIdx.x, sum);
  } else if (threadIdx.x == 128) {
    for (u32 step = 0; step < 2; ++step) {
      if (cluster::rank() == 0) mbarrier::wait_parity(&empty, ~step & 1);
      mbarrier::arrive_expect_tx(&full, sizeof tile);
      if (cluster::rank() == 0) bulk::load_multicast(&tile, step == 0 ? ones : twos, sizeof tile, &full, 0b11);
      if (cluster::rank() == 1) mbarrier::wait_parity(&full, step & 1);
    }
  }
  __syncwarp();
  cluster::sync();
}
