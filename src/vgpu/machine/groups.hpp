// Commit groups of asynchronous operations: "wait until at most N of the newest groups are pending".
#pragma once

#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "vgpu/machine/op.hpp"

namespace wm::vgpu {

// The groups of one thread (or of one warp, for wgmma): those that are committed, oldest first, and the open one.
class GroupQueue {
 public:
  // The open group's number, for the operation to give back when it is done.
  u64 add() {
    ++open_.pending;
    ++open_.reading;
    return first_ + committed_.size();
  }
  void commit() {
    committed_.push_back(std::exchange(open_, {}));
    drop_done();
  }
  void source_read(u64 group) { --at(group).reading; }
  void done(u64 group) {
    --at(group).pending;
    drop_done();
  }
  // Committed groups that are not done, counted from the oldest such one.
  u64 pending() const { return committed_.size(); }
  bool idle() const { return committed_.empty() && open_.pending == 0; }
  // The same for groups whose sources have not been read in full.
  u64 reading() const {
    u64 oldest = 0;
    while (oldest < committed_.size() && committed_[oldest].reading == 0) ++oldest;
    return committed_.size() - oldest;
  }

 private:
  struct Group {
    u32 pending = 0, reading = 0;
  };
  Group& at(u64 group) { return group - first_ < committed_.size() ? committed_[group - first_] : open_; }
  void drop_done() {
    u64 done = 0;
    while (done < committed_.size() && committed_[done].pending == 0) ++done;
    committed_.erase(committed_.begin(), committed_.begin() + static_cast<std::ptrdiff_t>(done));
    first_ += done;
  }
  std::vector<Group> committed_;  // a handful
  Group open_;
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
  // Whether nothing of the first lane's is pending, committed or not.
  bool idle() const { return !queues_ || (*queues_)[0].idle(); }
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
