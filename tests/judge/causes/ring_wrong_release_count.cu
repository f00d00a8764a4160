// A ring whose stages expect one release; two warps use them, and each gives them back.
#include "../ring.cuh"

#ifdef REPAIRED
constexpr u32 releases = 2;
#else
constexpr u32 releases = 1;
#endif

extern "C" __global__ void kernel(const u32* x, u32* y) {
  __shared__ RingShared shared;
  Ring<"tiles", stages, TmaCourier<words * sizeof(u32)>, Readers{releases, 32}> ring(shared.barriers);
  make_ready(ring);
  if (threadIdx.x == 0) {
    name_role<"load">();
    load_all(ring, shared, x);
  } else if (threadIdx.x >= 32) {
    name_role<"use">();
    const u32 at = threadIdx.x - 32;
    for (u32 step = 0; step < steps; ++step) {
      const Stage stage = ring.wait();
      y[step * words + at] = shared.tile[stage.index][at];
      __syncwarp();
      ring.release(stage);
    }
  }
}
