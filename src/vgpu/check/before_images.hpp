// What global memory held before a run wrote it, so that the run can be made once more.
#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "vgpu/memory/global.hpp"

namespace wm::vgpu::check {

// What memory held, and where. Its bytes stay while the run goes on that keeps them, also where it is freed.
struct Image {
  std::byte* place = nullptr;
  std::vector<std::byte> bytes;
};
using Images = std::map<u64, Image>;  // pages by address, or what of them is allocated

class BeforeImages {
 public:
  explicit BeforeImages(const Memory& memory) : memory_(memory) {}

  // This is about to be written. What leaves its allocation is not.
  void keep(u64 address, u64 bytes) {
    for (u64 page = address / page_bytes; page * page_bytes < address + bytes; ++page)
      if (page != recent_) keep_page(page);
  }
  const Images& pages() const { return pages_; }
  // Whether all that was written can be put back. What lies in the heap, which kernels take and give back, or in the
  // host's own memory, where somebody may look at it unless it was lent, cannot.
  bool whole() const { return whole_; }

 private:
  static constexpr u64 page_bytes = 512;  // what allocations begin at multiples of
  static constexpr u64 most_bytes = u64{1} << 30;
  void keep_page(u64 page);
  void keep_part(const Region& region, u64 page_begin);

  const Memory& memory_;
  Images pages_;
  u64 recent_ = ~u64{0}, bytes_ = 0;
  bool whole_ = true;
};

}  // namespace wm::vgpu::check
