// Commit groups of asynchronous operations: "wait until at most N of the newest groups are pending".
#pragma once

#include <array>
#include <deque>
#include <memory>

#include "vgpu/machine/op.hpp"

namespace wm::vgpu {

// The groups of one thread (or of one warp, for wgmma). The last element is the group that is still open.
class GroupQueue {
 public:
  // The open group's number, for the operation to give back when it is done.
  u64 add() {
    ++groups_.back().pending;
    ++groups_.back().reading;
    return first_ + groups_.size() - 1;
  }
  void commit() {
    groups_.push_back({});
    drop_done();
  }
  void source_read(u64 group) { --groups_[group - first_].reading; }
  void done(u64 group) {
    --groups_[group - first_].pending;
    drop_done();
  }
  // Committed groups that are not done, counted from the oldest such one.
  u64 pending() const { return groups_.size() - 1; }
  // The same for groups whose sources have not been read in full.
  u64 reading() const {
    u64 oldest = 0;
    while (oldest + 1 < groups_.size() && groups_[oldest].reading == 0) ++oldest;
    return groups_.size() - 1 - oldest;
  }

 private:
  struct Group {
    u32 pending = 0, reading = 0;
  };
  void drop_done() {
    while (groups_.size() > 1 && groups_.front().pending == 0) {
      groups_.pop_front();
      ++first_;
    }
  }
  std::deque<Group> groups_{Group{}};
  u64 first_ = 0;
};

// One queue a lane, made when the lane first uses it.
class Groups {
 public:
  GroupQueue& of(u32 lane) {
    if (!queues_) queues_ = std::make_unique<std::array<GroupQueue, lanes_per_warp>>();
    return (*queues_)[lane];
  }
  bool used() const { return queues_ != nullptr; }
  // Whether each of `lanes` has at most `allowed` groups pending (or, if `reading`, still reading).
  bool at_most(u64 allowed, u32 lanes, bool reading) const {
    if (!queues_) return true;
    for (u32 lane = 0; lane < lanes_per_warp; ++lane)
      if (lanes >> lane & 1) {
        const GroupQueue& q = (*queues_)[lane];
        if ((reading ? q.reading() : q.pending()) > allowed) return false;
      }
    return true;
  }
  void clear() { queues_.reset(); }

 private:
  std::unique_ptr<std::array<GroupQueue, lanes_per_warp>> queues_;
};

}  // namespace wm::vgpu
