// A ring of two stages of 64 words: one thread loads them in order, warps use them.
#pragma once

#include "common.cuh"
#include "warpmill/pipeline/ring.cuh"

constexpr u32 stages = 2, words = 64, steps = 8;

struct RingShared {
  alignas(128) u32 tile[stages][words];
  RingBarriers<stages> barriers;
};

template <class Ring>
WM_DEVICE void make_ready(const Ring& ring) {
  if (threadIdx.x == 0) {
    ring.init();
    fence::mbarrier_init();
  }
  __syncthreads();
}

template <class Ring>
WM_DEVICE void load_all(Ring& ring, RingShared& shared, const u32* x) {
  for (u32 step = 0; step < steps; ++step) {
    const Stage stage = ring.acquire();
    bulk::load(shared.tile[stage.index], x + step * words, words * sizeof(u32), stage.full);
  }
}
