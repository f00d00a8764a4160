// Warps that tell each other something: a barrier that says one thing, phase after phase: whoever is told waits for
// every one of them in turn. Where data must also be given back, a Ring has both directions; a signal is enough where
// the way back is another signal's. Where warps of several blocks arrive it is word of tensor memory alone, between
// tcgen05's fences: a release to another block takes long.
#pragma once

#include "warpmill/pipeline/names.cuh"
#include "warpmill/ptx/barrier.cuh"
#include "warpmill/ptx/cluster.cuh"
#include "warpmill/ptx/mbarrier.cuh"

namespace wm {

// Who arrives in one phase.
struct Arrivals {
  u32 tensor_cores = 0;  // commits
  u32 warps = 0;         // of each block
  u32 blocks = 1;        // of a cluster, whose warps do: all at the first one's barrier
  constexpr u32 all() const { return tensor_cores + warps * blocks; }
};

// One thread's place among the phases. Reports of the virtual GPU call the barrier `name`.
template <Name name, Arrivals arrivals>
class Signal {
 public:
  WM_DEVICE explicit Signal(u64& barrier) : barrier_(&barrier) {}

  // By one thread of the block, before a fence::mbarrier_init and the barrier that lets the others go.
  WM_DEVICE void init() const {
    name_shared<name, 8, 1>(barrier_);
    mbarrier::init(barrier_, arrivals.all());
  }
  WM_DEVICE void wait() {
    if constexpr (arrivals.blocks == 1)
      mbarrier::wait_parity(barrier_, phase_);
    else
      mbarrier::wait_parity_relaxed(barrier_, phase_);
    phase_ ^= 1;
  }
  // A whole warp, once each lane has done what is told.
  WM_DEVICE void arrive() const {
    static_assert(arrivals.warps > 0, "no warp arrives at this barrier");
    barrier::sync_warp();
    if (threadIdx.x % 32 != 0) return;
    if constexpr (arrivals.blocks == 1)
      mbarrier::arrive(barrier_);
    else
      mbarrier::arrive_remote_relaxed(cluster::map(barrier_, 0));
  }
  // Where a commit of the tensor cores arrives.
  WM_DEVICE SharedAddress committed() const {
    static_assert(arrivals.tensor_cores > 0, "the tensor cores do not arrive at this barrier");
    return barrier_;
  }

 private:
  SharedAddress barrier_;
  u32 phase_ = 0;
};

// Data that whole warps bring to a stage of a Ring with ordinary stores: a warp arrives when all its lanes have stored.
template <u32 warps>
struct StoringWarps {
  static constexpr u32 arrivals = warps;
  static WM_DEVICE void announce(SharedAddress) {}
  static WM_DEVICE void sent(SharedAddress full) {
    barrier::sync_warp();
    if (threadIdx.x % 32 == 0) mbarrier::arrive(full);
  }
};

}  // namespace wm
