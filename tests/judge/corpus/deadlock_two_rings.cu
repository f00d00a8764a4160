// Two rings: the warp that uses both gives back stages of the first one only.
#include "../ring.cuh"

struct Shared {
  alignas(128) u32 q[words];
  alignas(128) u32 kv[words];
  RingBarriers<1> q_barriers, kv_barriers;
};

extern "C" __global__ void kernel(const u32* x, u32* y) {
  __shared__ Shared shared;
  Ring<"q", 1, TmaCourier<sizeof(shared.q)>, Readers{1, 32}> q(shared.q_barriers);
  Ring<"kv", 1, TmaCourier<sizeof(shared.kv)>, Readers{1, 32}> kv(shared.kv_barriers);
  if (threadIdx.x == 0) q.init();
  make_ready(kv);
  if (threadIdx.x == 0) {
    for (u32 step = 0; step < 2; ++step) {
      bulk::load(shared.q, x + 2 * step * words, sizeof(shared.q), q.acquire().full);
      bulk::load(shared.kv, x + (2 * step + 1) * words, sizeof(shared.kv), kv.acquire().full);  // expect: first
    }
  } else if (threadIdx.x >= 32) {
    const u32 lane = threadIdx.x % 32;
    for (u32 step = 0; step < 2; ++step) {
      const Stage q_stage = q.wait();
      for (u32 i = lane; i < words; i += 32) y[2 * step * words + i] = shared.q[i];
      __syncwarp();
      q.release(q_stage);
      const Stage kv_stage = kv.wait();  // expect: second
      for (u32 i = lane; i < words; i += 32) y[(2 * step + 1) * words + i] = shared.kv[i];
      __syncwarp();
#ifdef REPAIRED
      kv.release(kv_stage);
#endif
    }
  }
}
