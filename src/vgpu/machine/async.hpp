// Work that goes on beside the warps: copies and matrix products are queued here and completed later, at moments that
// the scheduler's mode chooses.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "vgpu/machine/op.hpp"

namespace wm {
class Error;
}

namespace wm::vgpu {

struct Cluster;
struct Function;
class Random;
class Warp;

// Who issued an operation, for messages and for its groups.
struct Origin {
  Warp* warp = nullptr;
  const Function* function = nullptr;
  u32 pc = 0;
  u32 lane = 0;

  static Origin of(Warp& warp, u32 lane);
};

// An error of asynchronous work as a fault that knows where the work was issued.
class Fault;
struct Run;
Fault placed(const Error& error, const Origin& origin, const Run& run);

class AsyncOperation {
 public:
  explicit AsyncOperation(const Origin& from) : origin(from) {}
  virtual ~AsyncOperation() = default;
  // Does one more piece of the work, chosen by `dice` (null: all of it at once); true when all is done and its
  // completion has been signalled.
  virtual bool advance(Cluster& cluster, Random* dice) = 0;

  Origin origin;
  u64 watched = 0;  // the observer's number for it
  u64 stream = 0;   // operations of one stream complete in the order of their issue; 0: independent

 private:
  friend class AsyncQueue;
  u64 number = 0;         // in the order of issue
  bool released = false;  // its stream has let others follow
  u64 follows = 0;        // it comes after what others have released of what has a smaller number
};

class AsyncQueue {
 public:
  void issue(Cluster& cluster, std::unique_ptr<AsyncOperation> operation);
  // Completes what the mode wants completed now; true if anything moved.
  bool pump(Cluster& cluster);
  // Nobody can go on: moves at least one operation. False where there is none.
  bool force(Cluster& cluster);
  // Streams `first` + i for each bit of `lanes` let what is behind their pending operations follow those, and what is
  // issued in them from now on follows what others have let go so.
  void release(u64 first, u32 lanes);
  void acquire(u64 first, u32 lanes);
  bool empty() const { return pending_.empty() && late_.empty(); }
  void clear() {
    pending_.clear();
    late_.clear();
    streams_.clear();
    acquired_.clear();
    released_ = 0;
  }

 private:
  using Operations = std::vector<std::unique_ptr<AsyncOperation>>;
  bool advance_at(Cluster& cluster, Operations& operations, std::size_t index, Random* dice);
  // The first of its stream, and nothing before it that it follows.
  bool may_advance(const AsyncOperation& operation) const;
  Operations pending_, late_;  // `late_` are many where copies are many: nobody looks through them
  std::map<u64, std::deque<AsyncOperation*>> streams_;  // in the order of issue
  std::map<u64, u64> acquired_;                         // of a stream: the number from which on it follows nothing
  std::size_t released_ = 0;                            // of all that are pending
  u64 issued_ = 0;
};

}  // namespace wm::vgpu
