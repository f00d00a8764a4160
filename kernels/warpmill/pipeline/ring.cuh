// A ring of stages in shared memory between a producer and its consumers.
//
// Each stage has two barriers: `full` (the data is there) and `empty` (everybody has let go of it). What each of them
// counts follows from the Courier that brings the data and from its Readers; a kernel never writes a count.
//
//   producer                          consumer
//     stage = ring.acquire()            stage = ring.wait()
//     ... copies to stage.full ...      ... read ...
//     ring.commit(stage)                ring.release(stage)
#pragma once

#include "warpmill/pipeline/names.cuh"
#include "warpmill/ptx/cluster.cuh"
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

// The same for two blocks that multiply together: copies of both are counted where the first waits for them.
template <u32 bytes>
struct PairCourier {
  static constexpr u32 arrivals = 1;
  static WM_DEVICE void announce(SharedAddress full) {
    if (cluster::rank() % 2 == 0) mbarrier::arrive_expect_tx(full, 2 * bytes);
  }
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

// Who reads each stage: groups of threads that go together, warps or warpgroups. Where copies are multicast, a stage
// is filled by several blocks, and may be filled again when the readers of all have let go of it.
struct Readers {
  u32 groups;
  u32 threads;                 // of a group, which begins at a multiple of them
  u32 blocks = 1;              // that our copies reach at most, this one among them
  u32 cluster = 1;             // blocks in the cluster
  Scope scope = Scope::block;  // of what they release: where the producer's writes reach other blocks, the cluster
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

// One thread's place in the ring. Reports of the virtual GPU call its barriers `name.full` and `name.empty`.
template <Name name, int stages, class Courier, Readers readers>
class Ring {
 public:
  static constexpr bool multicast = readers.blocks > 1;

  WM_DEVICE explicit Ring(RingBarriers<stages>& barriers)
      : Ring(barriers, multicast ? (1u << readers.cluster) - 1 : 0) {
    static_assert(!multicast || readers.blocks == readers.cluster,
                  "a ring that some blocks of the cluster fill is told which: Ring(barriers, blocks)");
  }
  // `blocks`: those whose copies fill our stages, and ours, a bit for each rank. Nobody else is told that a stage is
  // free: who fills none of ours does not wait for us, and could count two of our rounds as one of somebody else's.
  WM_DEVICE Ring(RingBarriers<stages>& barriers, u32 blocks)
      : full_(&barriers.full), empty_(&barriers.empty), blocks_(blocks) {}

  // By one thread of the block, before a fence::mbarrier_init and the barrier that lets the others go.
  // `reached`: blocks whose stages our copies fill, this one among them.
  WM_DEVICE void init(u32 reached = readers.blocks) const {
    name_shared<name + ".full", 8, stages>(full_);
    name_shared<name + ".empty", 8, stages>(empty_);
    for (int i = 0; i < stages; ++i) {
      mbarrier::init(full_ + 8 * i, Courier::arrivals);
      mbarrier::init(empty_ + 8 * i, readers.groups * reached);
    }
  }

  // The next stage, once everybody has let go of what was in it.
  WM_DEVICE Stage acquire() {
    const Stage stage = here();
    // A fresh barrier counts as having completed the phase before its first: the first round does not wait.
    mbarrier::wait_parity<readers.scope>(stage.empty, phase_ ^ 1);
    Courier::announce(stage.full);
    advance();
    return stage;
  }
  WM_DEVICE void commit(const Stage& stage) const { Courier::sent(stage.full); }
  // The same without a courier: its one arrival is arrive(), by whoever sees that the data is there.
  WM_DEVICE Stage acquire_for_others() {
    static_assert(Courier::arrivals == 1, "a stage that others fill has one arrival");
    const Stage stage = here();
    mbarrier::wait_parity(stage.empty, phase_ ^ 1);
    advance();
    return stage;
  }
  WM_DEVICE void arrive(const Stage& stage) const { mbarrier::arrive(stage.full); }

  // The next stage, once its data is there.
  WM_DEVICE Stage wait() {
    const Stage stage = here();
    mbarrier::wait_parity(stage.full, phase_);
    advance();
    return stage;
  }
  // The next stage, whatever is in it.
  WM_DEVICE Stage next() const { return here(); }
  // Until everybody has let go of every stage: by the producer, where others' arrivals might still be on their way when
  // the block ends.
  WM_DEVICE void drain() {
    for (int i = 0; i < stages; ++i, advance()) mbarrier::wait_parity<readers.scope>(here().empty, phase_ ^ 1);
  }
  // The blocks that fill our stages.
  WM_DEVICE u32 blocks() const { return blocks_; }
  // Past `count` stages that others produce or consume.
  WM_DEVICE void skip(u32 count) {
    index_ += count;
    phase_ ^= index_ / stages % 2;
    index_ %= stages;
  }
  // By all threads of a reading group, after the last of them has read: one arrival at each block that fills the stage.
  WM_DEVICE void release(const Stage& stage) const {
    if (!lets_go()) return;
    if constexpr (multicast)
      mbarrier::arrive_remote<readers.scope>(cluster::map(stage.empty, thread_of_group()));
    else
      mbarrier::arrive(stage.empty);
  }
  // The same of the next stage, whose data the group has no use for. Who does not let go of it must not wait for it:
  // it may be filled again before such a thread has looked.
  WM_DEVICE void pass() {
    if (lets_go()) release(wait());
  }

  // The place after `count` stages, for who counts them: one number serves several rings, where each would keep two.
  static WM_DEVICE Ring after(u32 count, RingBarriers<stages>& barriers) {
    Ring ring(barriers);
    ring.skip(count);
    return ring;
  }

 private:
  static WM_DEVICE u32 thread_of_group() { return threadIdx.x % readers.threads; }
  // Whether this thread makes one of its group's arrivals: the first ones do, each at the block of its number.
  WM_DEVICE bool lets_go() const {
    if constexpr (!multicast) return thread_of_group() == 0;
    return thread_of_group() < readers.cluster && (blocks_ >> thread_of_group() & 1);
  }
  WM_DEVICE Stage here() const { return {index_, full_ + 8 * index_, empty_ + 8 * index_}; }
  WM_DEVICE void advance() {
    if (++index_ == stages) {
      index_ = 0;
      phase_ ^= 1;
    }
  }
  SharedAddress full_, empty_;
  u32 blocks_;
  u32 index_ = 0, phase_ = 0;
};

}  // namespace wm
