// mbarriers step by step and in turns, and named barriers.
#include "warpmill/ptx/barrier.cuh"
#include "warpmill/ptx/mbarrier.cuh"
#include "warpmill/ptx/special.cuh"

using namespace wm;

// One thread, one barrier, step by step: pending counts, states and parities as each operation leaves them.
extern "C" __global__ void mbarrier_states(u32* out) {
  using namespace mbarrier;
  __shared__ u64 memory;
  const SharedAddress barrier = &memory;
  u32 n = 0;
  init(barrier, 3);
  out[n++] = test_wait_parity(barrier, 0);  // the first phase is not over,
  out[n++] = test_wait_parity(barrier, 1);  // the one before it is
  const State first = arrive(barrier);
  out[n++] = pending_count(first);
  out[n++] = test_wait(barrier, first);
  const State second = arrive(barrier, 1);
  out[n++] = pending_count(second);
  out[n++] = test_wait_parity(barrier, 0);
  const State third = arrive(barrier);
  out[n++] = pending_count(third);
  out[n++] = test_wait(barrier, first) + 2 * test_wait(barrier, second) + 4 * test_wait(barrier, third);
  out[n++] = test_wait_parity(barrier, 0) + 2 * test_wait_parity(barrier, 1);
  out[n++] = try_wait(barrier, third) + 2 * try_wait_parity(barrier, 0) + 4 * try_wait_parity_for(barrier, 1, 100);

  // Second phase: all three arrivals at once, but bytes are missing.
  expect_tx(barrier, 100);
  const State bytes = arrive(barrier, 3);
  out[n++] = pending_count(bytes);
  out[n++] = test_wait(barrier, bytes);
  complete_tx(barrier, 60);
  out[n++] = test_wait(barrier, bytes);
  complete_tx(barrier, 40);
  out[n++] = test_wait(barrier, bytes) + 2 * test_wait_parity(barrier, 1) + 4 * test_wait_parity(barrier, 0);

  // Third phase: bytes arrive before they are expected.
  complete_tx(barrier, 48);
  out[n++] = test_wait_parity(barrier, 0);
  const State early = arrive_expect_tx(barrier, 48);
  out[n++] = pending_count(early);
  out[n++] = test_wait(barrier, early);
  arrive(barrier, 2);
  out[n++] = test_wait(barrier, early);

  // Fourth: one leaves; the fifth expects two.
  const State dropped = arrive_drop(barrier);
  out[n++] = pending_count(dropped);
  arrive(barrier, 2);
  out[n++] = test_wait(barrier, dropped);
  const State left = arrive(barrier);
  out[n++] = pending_count(left);
  const State last = arrive(barrier);
  out[n++] = pending_count(last);
  out[n++] = test_wait(barrier, last);

  // Sixth: another leaves, with bytes.
  const State away = arrive_drop_expect_tx(barrier, 16);
  out[n++] = pending_count(away);
  arrive(barrier);
  out[n++] = test_wait(barrier, away);
  complete_tx(barrier, 16);
  out[n++] = test_wait(barrier, away);
  invalidate(barrier);

  // A fresh barrier in the same place; arrivals that leave the phase open.
  init(barrier, 6);
  out[n++] = pending_count(arrive_no_complete(barrier, 2));
  out[n++] = pending_count(arrive_drop_no_complete(barrier, 1));
  out[n++] = pending_count(arrive_drop(barrier, 1));
  const State open = arrive(barrier);
  out[n++] = pending_count(open);
  out[n++] = test_wait(barrier, open);
  const State closing = arrive(barrier);
  out[n++] = test_wait(barrier, open) + 2 * test_wait(barrier, closing);
  out[n++] = pending_count(arrive(barrier));  // four are expected now
}

// Phases pass work round: warp w adds in its turn, and each turn is a phase.
extern "C" __global__ void mbarrier_turns(u32* out) {
  __shared__ u64 turn[4];
  __shared__ u32 value;
  const u32 warp = threadIdx.x / 32;
  if (threadIdx.x == 0) {
    for (u64& barrier : turn) mbarrier::init(&barrier, 32);
    value = 1;
  }
  __syncthreads();
  if (warp == 3) mbarrier::arrive(&turn[0]);
  for (u32 round = 0; round < 4; ++round) {
    mbarrier::wait_parity(&turn[warp], round & 1);
    if (special::lane() == 0) value = value * 3 + warp;
    __syncwarp();
    out[round * 128 + threadIdx.x] = value;
    if (round < 3 || warp < 3) mbarrier::arrive(&turn[(warp + 1) % 4]);
  }
}

// Producers arrive, consumers sync; then all take part in reductions.
extern "C" __global__ void named_barriers(u32* out) {
  __shared__ u32 words[64];
  const u32 t = threadIdx.x;
  for (u32 round = 0; round < 4; ++round) {
    if (t < 64) {
      if (round > 0) barrier::sync<2, 128>();
      words[t] = round * 1000 + t;
      barrier::arrive<1, 128>();
    } else {
      barrier::sync(1, 128);
      out[round * 64 + t - 64] = words[127 - t];
      if (round < 3) barrier::arrive(2, 128);
    }
  }
  u32* rest = out + 256 + t * 4;
  rest[0] = barrier::sync_count(3, 128, t % 3 == 0);
  rest[1] = barrier::sync_all(4, 128, t < 128);
  rest[2] = barrier::sync_all(5, 128, t != 77);
  rest[3] = barrier::sync_any(6, 128, t == 77);
  if (t < 64) rest[0] += 1000 * barrier::sync_count(7, 64, t % 2);
  barrier::sync_unaligned(8, 128);
  if (t < 32)
    barrier::arrive_unaligned(9, 64);
  else if (t < 64)
    barrier::sync_unaligned(9, 64);
  barrier::sync();
}
