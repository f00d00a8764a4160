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
};

class AsyncQueue {
 public:
  void issue(Cluster& cluster, std::unique_ptr<AsyncOperation> operation);
  // Completes what the mode wants completed now; true if anything moved.
  bool pump(Cluster& cluster);
  // Nobody can go on: moves at least one operation. False where there is none.
  bool force(Cluster& cluster);
  bool empty() const { return pending_.empty() && late_.empty(); }
  void clear() {
    pending_.clear();
    late_.clear();
    streams_.clear();
  }

 private:
  using Operations = std::vector<std::unique_ptr<AsyncOperation>>;
  bool advance_at(Cluster& cluster, Operations& operations, std::size_t index, Random* dice);
  bool first_of_stream(const AsyncOperation& operation) const;
  Operations pending_, late_;  // `late_` are many where copies are many: nobody looks through them
  std::map<u64, std::deque<const AsyncOperation*>> streams_;  // in the order of issue
};

}  // namespace wm::vgpu
