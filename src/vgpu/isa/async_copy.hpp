// What asynchronous copies share: how they are told to signal, and byte ranges that move piece by piece.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "vgpu/machine/async.hpp"
#include "vgpu/machine/block.hpp"
#include "vgpu/machine/mbarrier.hpp"

namespace wm::vgpu::isa {

// Groups of the issuing lane that an operation belongs to: those of cp.async, of bulk copies, or none.
class Membership {
 public:
  Membership() = default;
  Membership(Groups& groups, u32 lane) : queue_(&groups.of(lane)), group_(queue_->add()) {}
  void source_read() {
    if (queue_ != nullptr && !read_) queue_->source_read(group_);
    read_ = true;
  }
  void done() {
    source_read();
    if (queue_ != nullptr) queue_->done(group_);
  }

 private:
  GroupQueue* queue_ = nullptr;
  u64 group_ = 0;
  bool read_ = false;
};

// The bytes of one copy cut into pieces of at most `piece` bytes, taken in an order that the dice choose.
class Pieces {
 public:
  struct Range {
    u32 offset, bytes;
  };
  Pieces() = default;
  explicit Pieces(std::vector<Range> ranges) : left_(std::move(ranges)) {}
  static Pieces of(u32 bytes, u32 piece) {
    std::vector<Range> ranges;
    for (u32 at = 0; at < bytes; at += piece) ranges.push_back({at, std::min(piece, bytes - at)});
    return Pieces(std::move(ranges));
  }
  bool empty() const { return left_.empty(); }
  Range take(Random& dice) {
    const u32 index = dice.below(static_cast<u32>(left_.size()));
    const Range range = left_[index];
    left_[index] = left_.back();
    left_.pop_back();
    return range;
  }
  // How many to take now.
  u32 portion(Random& dice) const { return 1 + dice.below(static_cast<u32>(left_.size())); }

 private:
  std::vector<Range> left_;
};

// The blocks that a copy writes to: its own destination's, or those of a multicast mask. The mbarrier of each lies in
// the same block; of copies for pairs, in that block of the destination's pair whose rank is as odd as the given one's.
struct Destination {
  u64 shared = 0;   // address with rank
  u64 barrier = 0;  // address with rank; 0: none
};
std::vector<Destination> destinations(Warp& warp, u32 lane, u64 shared, u64 barrier, const u32* mask,
                                      bool for_pairs = false);

// The bytes of shared memory at an address with a rank; throws a fault where they are not all there.
std::byte* shared_at(Cluster& cluster, u64 address, u64 bytes, const char* what);
// The allocation that holds all of these bytes of device memory; throws a fault where there is none, or no longer.
Region region_of(const Memory& memory, u64 address, u64 bytes, const char* what);

}  // namespace wm::vgpu::isa
