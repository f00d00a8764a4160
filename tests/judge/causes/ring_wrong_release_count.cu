// A ring whose stages expect one release; two warps use them, and each gives them back.
#include "../ring.cuh"

#ifdef REPAIRED
constexpr u32 releases = 2;
#else
constexpr u32 releases = 1;
#endif

extern "C" __global__ void kernel(const u32* x, u32* y) {
  __shared__ RingShared shared;
  Ring<stages, TmaCourier<words * sizeof(u32)>, releases> ring(shared.barriers);
  make_ready(ring);
  if (threadIdx.x == 0) {
    WM_NAME_ROLE("load");
    load_all(ring, shared, x);
  } else if (threadIdx.x >= 32) {
    WM_NAME_ROLE("use");
    const u32 lane = threadIdx.x % 32, at = threadIdx.x - 32;
    for (u32 step = 0; step < steps; ++step) {
      const Stage stage = ring.wait();
      y[step * words + at] = shared.tile[stage.index][at];
      __syncwarp();
      if (lane == 0) ring.release(stage);
    }
  }
}
