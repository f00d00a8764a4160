// The warp that uses a ring's stages forgets that the parity changes from round to round.
#include "../ring.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
  __shared__ RingShared shared;
  Ring<"tiles", stages, TmaCourier<words * sizeof(u32)>, Readers{1, 32}> ring(shared.barriers);
  make_ready(ring);
  if (threadIdx.x == 0) {
    name_role<"load">();
    load_all(ring, shared, x);
  } else if (threadIdx.x >= 32) {
    name_role<"use">();
    const u32 lane = threadIdx.x % 32;
    for (u32 step = 0; step < steps; ++step) {
      const u32 stage = step % stages;
#ifdef REPAIRED
      mbarrier::wait_parity(&shared.barriers.full[stage], step / stages & 1);
#else
      mbarrier::wait_parity(&shared.barriers.full[stage], 0);
#endif
      for (u32 i = lane; i < words; i += 32) y[step * words + i] = shared.tile[stage][i];
      __syncwarp();
      if (lane == 0) mbarrier::arrive(&shared.barriers.empty[stage]);
    }
  }
}
