// The memory behind malloc and free in kernels. It outlives a launch, as on the chip.
#pragma once

#include <mutex>
#include <unordered_map>

#include "vgpu/memory/global.hpp"

namespace wm::vgpu {

class Heap {
 public:
  explicit Heap(Memory& memory) : memory_(memory) {}

  u64 allocate(u64 bytes) {                 // 0 where the heap is full
    constexpr u64 capacity = u64{8} << 20;  // the chip's default
    std::lock_guard lock(mutex_);
    if (bytes == 0 || bytes > capacity - used_) return 0;
    const u64 address = memory_.allocate_heap(bytes);
    used_ += bytes;
    live_[address] = bytes;
    return address;
  }
  bool release(u64 address) {  // false where it is not of the heap
    if (address == 0) return true;
    std::lock_guard lock(mutex_);
    const auto found = live_.find(address);
    if (found == live_.end()) return false;
    used_ -= found->second;
    live_.erase(found);
    memory_.free(address);
    return true;
  }

 private:
  Memory& memory_;
  std::mutex mutex_;
  std::unordered_map<u64, u64> live_;
  u64 used_ = 0;
};

}  // namespace wm::vgpu
