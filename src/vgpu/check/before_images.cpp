// Pages of global memory, kept before they are written.
#include "vgpu/check/before_images.hpp"

#include <algorithm>

#include "vgpu/memory/spaces.hpp"

namespace wm::vgpu::check {

void BeforeImages::keep_page(u64 page) {
  recent_ = page;
  const u64 address = page * page_bytes;
  const Region region = memory_.find(address);
  if (!region.holds(address, 1) || region.of_host || is_heap(address)) {
    whole_ = false;
    return;
  }
  const auto [kept, added] = pages_.try_emplace(address);
  if (!added) return;
  const u64 bytes = std::min(page_bytes, region.address + region.bytes - address);
  whole_ &= (bytes_ += bytes) <= most_bytes;
  if (!whole_) return;
  const std::byte* const host = region.host + (address - region.address);
  kept->second.assign(host, host + bytes);
}

}  // namespace wm::vgpu::check
