// Turns: warpgroups that use something one after the other, round and round, each handing it to the next.
#pragma once

#include "warpmill/pipeline/roles.cuh"
#include "warpmill/ptx/barrier.cuh"

namespace wm {

// Takes `groups` named barriers from `first` on. All functions: all threads of the warpgroup. Every group takes and
// hands over equally often between begin() and end(); or without these, group 0 does not take its first turn, and
// nobody hands over a turn that is never taken.
template <auto first, u32 groups>
class Turns {
 public:
  WM_DEVICE explicit Turns(u32 group) : group_(group) {}
  WM_DEVICE void begin() const {
    if (groups > 1 && group_ == groups - 1) hand_over();
  }
  WM_DEVICE void end() const {
    if (groups > 1 && group_ == 0) take();
  }
  // Waits until the group before has handed over.
  WM_DEVICE void take() const {
    if constexpr (groups > 1) barrier::sync(barrier_of(group_), 2 * warpgroup_threads);
  }
  WM_DEVICE void hand_over() const {
    if constexpr (groups == 1) return;
    const u32 next = groups == 2 ? 1 - group_ : group_ + 1 == groups ? 0 : group_ + 1;
    barrier::arrive(barrier_of(next), 2 * warpgroup_threads);
  }

 private:
  static WM_DEVICE u32 barrier_of(u32 group) { return u32(first) + group; }
  u32 group_;
};

}  // namespace wm
