// A block fills its peer's stage by multicast again when its own warps have read it, with no word from the peer's.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
  __shared__ alignas(16) u32 tile[64];
  __shared__ u64 full[2], empty;
#ifdef REPAIRED
  constexpr u32 readers = 128;
#else
  constexpr u32 readers = 64;
#endif
  if (threadIdx.x == 0) {
    mbarrier::init(&full[0], 1);
    mbarrier::init(&full[1], 1);
    mbarrier::init(&empty, readers);
    fence::mbarrier_init();
  }
  cluster::sync();
  const bool says = cluster::rank() == 0 || readers == 128;
  if (threadIdx.x == 64)
    for (u32 step = 0; step < 2; ++step) {
      if (cluster::rank() == 0 && step > 0) mbarrier::wait_parity<Scope::cluster>(&empty, 0);
      mbarrier::arrive_expect_tx(&full[step], sizeof tile);
      if (cluster::rank() == 0)
        bulk::load_multicast(tile, x + 64 * step, sizeof tile, &full[step], 0b11);  // expect: second
    }
  if (threadIdx.x < 64)
    for (u32 step = 0; step < 2; ++step) {
      mbarrier::wait_parity(&full[step], 0);
      y[128 * blockIdx.x + 64 * step + threadIdx.x] = tile[threadIdx.x];  // expect: first
      if (step == 0 && says) mbarrier::arrive_remote(cluster::map(SharedAddress(&empty), 0));
    }
  __syncwarp();
  cluster::sync();
}
