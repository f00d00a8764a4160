// Clocks: sorted lists of what is known, joined by merging.
#include "vgpu/check/clock.hpp"

#include <algorithm>
#include <bit>

namespace wm::vgpu::check {

u32 Clock::time(Component component, Known way) const {
  const auto found = std::lower_bound(entries_.begin(), entries_.end(), component,
                                      [](const Entry& entry, Component c) { return entry.component < c; });
  return found != entries_.end() && found->component == component ? of(found->times, way) : 0;
}

bool Clock::covers(u32 warp, u32 lanes, u32 time, Known way) const {
  auto entry = std::lower_bound(entries_.begin(), entries_.end(), whole_warp(warp),
                                [](const Entry& e, Component c) { return e.component < c; });
  if (entry != entries_.end() && entry->component == whole_warp(warp)) {
    if (of(entry->times, way) >= time) return true;
    ++entry;
  }
  for (; entry != entries_.end() && entry->component <= lane_of(warp, lanes_per_warp - 1); ++entry)
    if (of(entry->times, way) >= time) lanes &= ~(1u << (entry->component - lane_of(warp, 0)));
  return lanes == 0;
}

bool Clock::covers_any(u32 warp, u32 lanes, u32 time, Known way) const {
  for (; lanes != 0; lanes &= lanes - 1)
    if (covers(warp, lanes & -lanes, time, way)) return true;
  return false;
}

void Clock::learn(Component component, const Times& times) {
  const auto found = std::lower_bound(entries_.begin(), entries_.end(), component,
                                      [](const Entry& entry, Component c) { return entry.component < c; });
  if (found == entries_.end() || found->component != component) {
    entries_.insert(found, {component, times});
    return;
  }
  for (std::size_t way = 0; way < ways; ++way) found->times[way] = std::max(found->times[way], times[way]);
}

void Clock::join(const Clock& other) {
  if (other.entries_.empty()) return;
  if (entries_.empty()) {
    entries_ = other.entries_;
    return;
  }
  // Mostly all of it is known by name: then nothing moves.
  auto mine = entries_.begin();
  auto theirs = other.entries_.cbegin();
  for (; theirs != other.entries_.end(); ++theirs) {
    while (mine != entries_.end() && mine->component < theirs->component) ++mine;
    if (mine == entries_.end() || mine->component != theirs->component) break;
    for (std::size_t way = 0; way < ways; ++way) mine->times[way] = std::max(mine->times[way], theirs->times[way]);
  }
  if (theirs == other.entries_.end()) return;
  std::vector<Entry> joined;
  joined.reserve(std::max(entries_.size(), other.entries_.size()));
  auto a = entries_.cbegin(), b = other.entries_.cbegin();
  while (a != entries_.end() || b != other.entries_.end()) {
    if (b == other.entries_.end() || (a != entries_.end() && a->component < b->component)) {
      joined.push_back(*a++);
    } else if (a == entries_.end() || b->component < a->component) {
      joined.push_back(*b++);
    } else {
      joined.push_back(*a);
      for (std::size_t way = 0; way < ways; ++way)
        joined.back().times[way] = std::max(joined.back().times[way], b->times[way]);
      ++a, ++b;
    }
  }
  entries_ = std::move(joined);
}

void Clock::promote(Known from, Known to) {
  for (Entry& entry : entries_) of(entry.times, to) = std::max(of(entry.times, to), of(entry.times, from));
}

void Clock::promote_tensor(Known from, Known to) {
  for (Entry& entry : entries_)
    if (entry.of_tensor()) of(entry.times, to) = std::max(of(entry.times, to), of(entry.times, from));
}

Clock Clock::tensor_done(Known way) const {
  Clock result;
  for (const Entry& entry : entries_)
    if (entry.of_tensor() && of(entry.times, way) != 0)
      result.entries_.push_back({entry.component, plainly(of(entry.times, way))});
  return result;
}

Clock Clock::only(std::initializer_list<Known> kept) const {
  Clock result;
  result.entries_.reserve(entries_.size());
  for (const Entry& entry : entries_) {
    Times times{};
    u32 any = 0;
    for (const Known way : kept) any |= of(times, way) = of(entry.times, way);
    if (any != 0) result.entries_.push_back({entry.component, times});
  }
  return result;
}

Clock::Entry Clock::Entry::until(Known way) const {
  Entry result = *this;
  for (u32& time : result.times) time = std::min(time, of(times, way));
  return result;
}

Clock Clock::fenced(Known scope) const {
  Clock result;
  for (const Entry& entry : entries_)
    if (of(entry.times, scope) != 0) result.entries_.push_back(entry.until(scope));
  return result;
}

Clock Clock::tensor_fenced() const {
  Clock result;
  for (const Entry& entry : entries_)
    if (entry.of_tensor() && of(entry.times, Known::map_released) != 0)
      result.entries_.push_back(entry.until(Known::map_released));
  return result;
}

}  // namespace wm::vgpu::check
