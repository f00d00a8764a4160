// The bytes that an asynchronous operation touches: for each page a bit for every 16 bytes of it, and ranges for what
// is no multiple of 16.
#pragma once

#include <vector>

#include "vgpu/machine/op.hpp"

namespace wm::vgpu {

// Bytes at a generic address.
struct MemoryRange {
  u64 address = 0;
  u64 bytes = 0;
  bool operator==(const MemoryRange&) const = default;
};

class Footprint {
 public:
  static constexpr u64 grain = 16, page_bytes = 64 * grain;
  struct Page {
    u64 address = 0;  // generic
    u64 grains = 0;
    bool operator==(const Page&) const = default;
  };
  bool operator==(const Footprint&) const = default;

  void add(u64 address, u64 bytes) {
    bytes_ += bytes;
    const u64 end = address + bytes;
    while (address < end) {
      const u64 first = address % grain, whole = (end - address) / grain;
      if (first != 0 || whole == 0) {
        const u64 part = end - address < grain - first ? end - address : grain - first;
        parts_.push_back({address, part});
        address += part;
        continue;
      }
      const u64 at = address / page_bytes * page_bytes, begin = address % page_bytes / grain;
      const u64 count = whole < 64 - begin ? whole : 64 - begin;
      if (pages_.empty() || pages_.back().address != at) pages_.push_back({at, 0});
      pages_.back().grains |= (~u64{0} >> (64 - count)) << begin;
      address += count * grain;
    }
  }

  const std::vector<Page>& pages() const { return pages_; }
  const std::vector<MemoryRange>& parts() const { return parts_; }
  u64 bytes() const { return bytes_; }

 private:
  std::vector<Page> pages_;
  std::vector<MemoryRange> parts_;
  u64 bytes_ = 0;
};

}  // namespace wm::vgpu
