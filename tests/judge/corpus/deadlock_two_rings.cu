// Two rings: the warp that uses both gives back stages of the first one only.
#include "../ring.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
  __shared__ alignas(128) u32 space[2 * words];
  __shared__ u64 full[2], empty[2];
  u32 *q = space, *kv = space + words;
  prepare(full[0], 1, full[1], 1, empty[0], 1, empty[1], 1);
  if (threadIdx.x == 0) {
    WM_NAME_SHARED("q", q, 256, 1);
    WM_NAME_SHARED("kv", kv, 256, 1);
    WM_NAME_SHARED("q.full", &full[0], 8, 1);
    WM_NAME_SHARED("q.empty", &empty[0], 8, 1);
    WM_NAME_SHARED("kv.full", &full[1], 8, 1);
    WM_NAME_SHARED("kv.empty", &empty[1], 8, 1);
    for (u32 step = 0; step < 2; ++step)
      for (u32 ring = 0; ring < 2; ++ring) {
        mbarrier::wait_parity(&empty[ring], ~step & 1);  // expect: first
        mbarrier::arrive_expect_tx(&full[ring], 256);
        bulk::load(ring == 0 ? q : kv, x + (2 * step + ring) * words, 256, &full[ring]);
      }
  } else if (threadIdx.x >= 32) {
    const u32 lane = threadIdx.x % 32;
    for (u32 step = 0; step < 2; ++step)
      for (u32 ring = 0; ring < 2; ++ring) {
        mbarrier::wait_parity(&full[ring], step & 1);  // expect: second
        for (u32 i = lane; i < words; i += 32) y[(2 * step + ring) * words + i] = (ring == 0 ? q : kv)[i];
        __syncwarp();
#ifdef REPAIRED
        if (lane == 0) mbarrier::arrive(&empty[ring]);
#else
        if (lane == 0 && ring == 0) mbarrier::arrive(&empty[ring]);
#endif
      }
  }
}
