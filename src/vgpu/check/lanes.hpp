// The clocks of a warp's lanes: one while they agree, several when they do not.
#pragma once

#include <array>
#include <utility>
#include <vector>

#include "vgpu/check/clock.hpp"

namespace wm::vgpu::check {

// What was read by relaxed reads and waits for an acquiring fence that reaches whoever passed it on.
class Pending {
 public:
  Clock& from(Scope distance) { return clocks_[static_cast<std::size_t>(distance)]; }
  void join(const Pending& other) {
    for (std::size_t i = 0; i < clocks_.size(); ++i) clocks_[i].join(other.clocks_[i]);
  }
  // What a fence of this scope acquires.
  void take(Scope scope, Clock& into) {
    for (std::size_t i = 0; i <= static_cast<std::size_t>(scope); ++i) into.join(std::exchange(clocks_[i], {}));
  }
  bool covers(u32 warp, u32 lanes, u32 time, Known way) const {
    for (const Clock& clock : clocks_)
      if (clock.covers(warp, lanes, time, way)) return true;
    return false;
  }

 private:
  std::array<Clock, 3> clocks_;
};

// Lanes that know the same.
struct LaneClass {
  u32 lanes = all_lanes;
  Clock clock;  // of others
  Pending pending;
  Times own{};  // how far each lane's own actions went through fences; `data` is not used: program order
};

class WarpClock {
 public:
  WarpClock() = default;
  WarpClock(u32 warp, u32 lanes) : warp_(warp), started_(lanes), classes_(1) { classes_[0].lanes = lanes; }

  u32 warp() const { return warp_; }
  u32 started() const { return started_; }
  u32 now() const { return now_; }

  const LaneClass& of_lane(u32 lane) const;
  // Calls change(LaneClass&) for each class of lanes within `lanes`, split off where a class reaches beyond.
  template <class Change>
  void change(u32 lanes, Change&& change) {
    split(lanes);
    for (LaneClass& c : classes_)
      if (c.lanes & lanes) change(c);
  }
  // What `lanes` pass on when they release together: what they know, and their own actions so far. Time goes on.
  Clock release(u32 lanes);
  void tick() { ++now_; }
  // The same without time going on: what an action they issue now is ordered after.
  Clock snapshot(u32 lanes) const;
  // `lanes` have met at a barrier and all know `clock` and what they knew before: one class of them.
  void meet(u32 lanes, const Clock& clock, const Pending& pending);
  void learn(u32 lanes, const Clock& clock);
  // `lanes` exchange or use registers together, which is no barrier: what each has read, it has, and what one knows the
  // others may take as known.
  void come_together(u32 lanes);
  // Everything `lanes` did or are ordered after has now gone through a fence of this kind.
  void fence(u32 lanes, Known way);
  // Tensor maps whose changes were released may now be used.
  void acquire_maps(u32 lanes);
  Pending pending(u32 lanes) const;

 private:
  void split(u32 lanes);
  u32 warp_ = 0;
  u32 started_ = 0;
  u32 now_ = 1;
  std::vector<LaneClass> classes_;
};

}  // namespace wm::vgpu::check
