// The clocks of a warp's lanes.
#include "vgpu/check/lanes.hpp"

#include <bit>

namespace wm::vgpu::check {

const LaneClass& WarpClock::of_lane(u32 lane) const {
  for (const LaneClass& c : classes_)
    if (c.lanes >> lane & 1) return c;
  return classes_.front();
}

void WarpClock::split(u32 lanes) {
  for (std::size_t i = 0; i < classes_.size(); ++i) {
    const u32 outside = classes_[i].lanes & ~lanes;
    if (outside == 0 || outside == classes_[i].lanes) continue;
    LaneClass other = classes_[i];
    other.lanes = outside;
    classes_[i].lanes &= lanes;
    classes_.push_back(std::move(other));
  }
}

Clock WarpClock::snapshot(u32 lanes) const {
  Clock message;
  const bool all = (started_ & ~lanes) == 0;
  Times together;
  together.fill(now_);
  for (const LaneClass& c : classes_) {
    if ((c.lanes & lanes) == 0) continue;
    message.join(c.clock);
    // A lane's own actions are ordered in every plain way; through fences only as far as it has run them.
    Times times = c.own;
    of(times, Known::data) = of(times, Known::reads) = of(times, Known::control) = now_;
    for (std::size_t way = 0; way < ways; ++way) together[way] = std::min(together[way], times[way]);
    if (all && classes_.size() == 1) continue;
    for (u32 left = c.lanes & lanes; left != 0; left &= left - 1)
      message.learn(lane_of(warp_, static_cast<u32>(std::countr_zero(left))), times);
  }
  if (all) message.learn(whole_warp(warp_), together);
  return message;
}

Clock WarpClock::release(u32 lanes) {
  Clock message = snapshot(lanes);
  ++now_;
  return message;
}

Pending WarpClock::pending(u32 lanes) const {
  Pending all;
  for (const LaneClass& c : classes_)
    if (c.lanes & lanes) all.join(c.pending);
  return all;
}

void WarpClock::meet(u32 lanes, const Clock& clock, const Pending& pending) {
  split(lanes);
  LaneClass met;
  met.lanes = 0;
  met.own.fill(now_);
  for (std::size_t i = 0; i < classes_.size();) {
    if ((classes_[i].lanes & lanes) == 0) {
      ++i;
      continue;
    }
    met.lanes |= classes_[i].lanes;
    met.clock.join(classes_[i].clock);
    met.pending.join(classes_[i].pending);
    for (std::size_t way = 0; way < ways; ++way) met.own[way] = std::min(met.own[way], classes_[i].own[way]);
    classes_.erase(classes_.begin() + static_cast<std::ptrdiff_t>(i));
  }
  met.clock.join(clock);
  met.pending.join(pending);
  classes_.push_back(std::move(met));
}

void WarpClock::learn(u32 lanes, const Clock& clock) {
  change(lanes, [&](LaneClass& c) { c.clock.join(clock); });
}

void WarpClock::come_together(u32 lanes) {
  if ((lanes & (lanes - 1)) == 0) return;
  Clock here;
  if ((started_ & ~lanes) == 0)
    here.learn(whole_warp(warp_), only_as(Known::met, now_));
  else
    for (u32 left = lanes; left != 0; left &= left - 1)
      here.learn(lane_of(warp_, static_cast<u32>(std::countr_zero(left))), only_as(Known::met, now_));
  if (classes_.size() > 1)
    for (const LaneClass& c : classes_) {
      if ((c.lanes & lanes) == 0) continue;
      Clock known = c.clock;
      known.promote(Known::data, Known::told);
      known.promote(Known::shared_proxy, Known::told_proxy);
      here.join(known.only({Known::met, Known::told, Known::told_proxy}));
    }
  learn(lanes, here);
  ++now_;
}

void WarpClock::fence(u32 lanes, Known way) {
  change(lanes, [&](LaneClass& c) {
    c.clock.promote(Known::data, way);
    // What an exchange says goes with a relaxed flag too. Behind the other fences asynchronous work takes what was
    // written, of which an exchange orders nothing.
    if (reaches_a_scope(way))
      for (const Known known : {Known::met, Known::told}) c.clock.promote(known, way);
    if (way == Known::shared_proxy) {
      c.clock.promote(Known::told, Known::told_proxy);
      c.clock.promote(Known::peer, Known::peer_proxy);
    }
    of(c.own, way) = now_;
  });
  ++now_;
}

void WarpClock::acquire_maps(u32 lanes) {
  change(lanes, [&](LaneClass& c) {
    c.clock.promote(Known::map_released, Known::map_acquired);
    of(c.own, Known::map_acquired) = of(c.own, Known::map_released);
  });
  ++now_;
}

}  // namespace wm::vgpu::check
