// A tile is filled again when one of its two reading warps has said that it has read it; the other has not.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
  __shared__ alignas(16) u32 tile[32];
  __shared__ u64 full[2], empty;
#ifdef REPAIRED
  constexpr u32 readers = 64;
#else
  constexpr u32 readers = 32;
#endif
  prepare(full[0], 1, full[1], 1, empty, readers);
  const u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (threadIdx.x == 0)
    for (u32 step = 0; step < 2; ++step) {
      if (step > 0) mbarrier::wait_parity(&empty, 0);
      mbarrier::arrive_expect_tx(&full[step], sizeof tile);
      bulk::load(tile, x + 32 * step, sizeof tile, &full[step]);  // expect: second
    }
  if (warp > 0)
    for (u32 step = 0; step < 2; ++step) {
      mbarrier::wait_parity(&full[step], 0);
      if (warp == 2 && step == 0) __nanosleep(1000);
      y[64 * (warp - 1) + 32 * step + lane] = tile[lane];  // expect: first
      if (step == 0 && (warp == 1 || readers == 64)) mbarrier::arrive(&empty);
    }
}
