// A ring of stages in shared memory between a producer and its consumers.
//
// Each stage has two barriers: `full` (the data is there) and `empty` (everybody has let go of it). What each of them
// counts follows from the Courier that brings the data and from the number of consumers; a kernel never writes a count.
//
//   producer                          consumer
//     stage = ring.acquire()            stage = ring.wait()
//     ... copies to stage.full ...      ... read ...
//     ring.commit(stage)                ring.release(stage)
#pragma once

#include "warpmill/pipeline/names.cuh"
#include "warpmill/ptx/cp_async.cuh"
#include "warpmill/ptx/mbarrier.cuh"
#include "warpmill/types.cuh"

namespace wm {

// Data brought by the copy engine (sm_90): one thread announces the bytes, the engine counts them down.
template <u32 bytes>
struct TmaCourier {
  static constexpr u32 arrivals = 1;
  static WM_DEVICE void announce(SharedAddress full) { mbarrier::arrive_expect_tx(full, bytes); }
  static WM_DEVICE void sent(SharedAddress) {}
};

// Data brought by the threads themselves with cp.async (sm_80 on): each arrives when its own copies are done.
template <u32 threads>
struct CopyCourier {
  static constexpr u32 arrivals = threads;
  static WM_DEVICE void announce(SharedAddress) {}
  static WM_DEVICE void sent(SharedAddress full) { cp_async::mbarrier_arrive_no_increment(full); }
};

// Data brought by the threads with ordinary stores (and copies that they have waited for).
template <u32 threads>
struct StoreCourier {
  static constexpr u32 arrivals = threads;
  static WM_DEVICE void announce(SharedAddress) {}
  static WM_DEVICE void sent(SharedAddress full) {
    cp_async::wait_all();
    mbarrier::arrive(full);
  }
};

template <int stages>
struct RingBarriers {
  u64 full[stages];
  u64 empty[stages];
};

struct Stage {
  u32 index;
  SharedAddress full;
  SharedAddress empty;
};

// One thread's place in the ring. `releases` counts the arrivals that free a stage: one a consumer group, and where
// copies are multicast, of every block that receives them.
template <int stages, class Courier, u32 releases>
class Ring {
 public:
  WM_DEVICE explicit Ring(RingBarriers<stages>& barriers) : full_(&barriers.full), empty_(&barriers.empty) {}

  // By one thread of the block, before a fence::mbarrier_init and the barrier that lets the others go.
  WM_DEVICE void init() const {
    WM_NAME_SHARED("full", full_, 8, stages);
    WM_NAME_SHARED("empty", empty_, 8, stages);
    for (int i = 0; i < stages; ++i) {
      mbarrier::init(full_ + 8 * i, Courier::arrivals);
      mbarrier::init(empty_ + 8 * i, releases);
    }
  }

  // The next stage, once everybody has let go of what was in it.
  WM_DEVICE Stage acquire() {
    const Stage stage = here();
    // A fresh barrier counts as having completed the phase before its first: the first round does not wait.
    mbarrier::wait_parity(stage.empty, phase_ ^ 1);
    Courier::announce(stage.full);
    advance();
    return stage;
  }
  WM_DEVICE void commit(const Stage& stage) const { Courier::sent(stage.full); }

  // The next stage, once its data is there.
  WM_DEVICE Stage wait() {
    const Stage stage = here();
    mbarrier::wait_parity(stage.full, phase_);
    advance();
    return stage;
  }
  // Past `count` stages that others produce or consume.
  WM_DEVICE void skip(u32 count) {
    index_ += count;
    phase_ ^= index_ / stages % 2;
    index_ %= stages;
  }
  // One arrival: by one thread a consumer group.
  WM_DEVICE void release(const Stage& stage) const { mbarrier::arrive(stage.empty); }

 private:
  WM_DEVICE Stage here() const { return {index_, full_ + 8 * index_, empty_ + 8 * index_}; }
  WM_DEVICE void advance() {
    if (++index_ == stages) {
      index_ = 0;
      phase_ ^= 1;
    }
  }
  SharedAddress full_, empty_;
  u32 index_ = 0, phase_ = 0;
};

}  // namespace wm
