// Turns: warpgroups that use something one after the other, round and round, each handing it to the next.
#pragma once

#include "warpmill/pipeline/roles.cuh"
#include "warpmill/ptx/barrier.cuh"

namespace wm {

// Takes `groups` named barriers from `first` on. The first turn is group 0's: it takes none before its first
// hand-over has come round.
template <auto first, u32 groups>
class Turns {
 public:
  WM_DEVICE explicit Turns(u32 group) : group_(group) {}
  // Waits until the group before has handed over. All threads of the warpgroup.
  WM_DEVICE void take() const { barrier::sync(barrier_of(group_), 2 * warpgroup_threads); }
  WM_DEVICE void hand_over() const {
    const u32 next = groups == 2 ? 1 - group_ : group_ + 1 == groups ? 0 : group_ + 1;
    barrier::arrive(barrier_of(next), 2 * warpgroup_threads);
  }

 private:
  static WM_DEVICE u32 barrier_of(u32 group) { return u32(first) + group; }
  u32 group_;
};

}  // namespace wm
