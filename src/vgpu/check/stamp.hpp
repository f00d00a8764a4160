// Actions of threads and of asynchronous work, stamped with whose they are and when.
#pragma once

#include <algorithm>
#include <vector>

#include "vgpu/machine/op.hpp"

namespace wm::vgpu::check {

// An access: by lanes of a warp at a time, or by a piece of asynchronous work that one of them issued.
struct Stamp {
  u32 warp = 0;   // the judge's number of the warp
  u32 lanes = 0;  // none: no access
  u32 time = 0;
  u32 site = 0;        // of the instruction
  u32 async : 31 = 0;  // number of the asynchronous work, where it is one
  u32 strong : 1 = 0;  // atomic, relaxed, volatile
  bool exists() const { return lanes != 0; }
  bool operator==(const Stamp&) const = default;
  // The same instruction of the same warp at the same time, or the same asynchronous work.
  bool together(const Stamp& other) const {
    return async == other.async && warp == other.warp && time == other.time && site == other.site;
  }
};

static_assert(sizeof(Stamp) == 20, "there are a few for every word that a kernel touches");

// Of the actions of each thread the last: who is ordered after that is ordered after those before it.
void keep_last(std::vector<Stamp>& stamps);

// Actions of any number of threads. Who is ordered after a thread's last action is ordered after those before it, so
// of each thread the last one is kept; that the others go is looked after now and then, as their number doubles.
class LastOfEach {
 public:
  // True when it is time to tidy.
  bool add(const Stamp& stamp) {
    if (!stamps_.empty() && stamps_.back().together(stamp)) {
      stamps_.back().lanes |= stamp.lanes;
      return false;
    }
    stamps_.push_back(stamp);
    return stamps_.size() >= limit_;
  }
  // Drops what test(Stamp) says, and all but the last action of each thread.
  template <class Test>
  void tidy(Test&& test) {
    std::erase_if(stamps_, test);
    keep_last(stamps_);
    limit_ = std::max<std::size_t>(least_limit, 2 * stamps_.size());
  }
  void clear() {
    stamps_.clear();
    limit_ = least_limit;
  }
  auto begin() const { return stamps_.begin(); }
  auto end() const { return stamps_.end(); }

 private:
  static constexpr std::size_t least_limit = 16;
  std::vector<Stamp> stamps_;
  std::size_t limit_ = least_limit;
};

}  // namespace wm::vgpu::check
