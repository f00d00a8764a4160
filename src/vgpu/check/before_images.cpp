// Pages of global memory, kept before they are written.
#include "vgpu/check/before_images.hpp"

#include <algorithm>

#include "vgpu/memory/spaces.hpp"

namespace wm::vgpu::check {

void BeforeImages::keep_page(u64 page) {
  recent_ = page;
  const u64 begin = page * page_bytes;
  const std::vector<Region> regions = memory_.overlapping(begin, page_bytes);
  whole_ &= !regions.empty();
  for (const Region& region : regions) keep_part(region, begin);
}

void BeforeImages::keep_part(const Region& region, u64 page_begin) {
  if (region.read_only) return;  // nothing is written there, nor may it be put back
  const u64 first = std::max(page_begin, region.address);
  const u64 bytes = std::min(page_begin + page_bytes, region.address + region.bytes) - first;
  if (region.of_host ? !region.lent : is_heap(first)) {
    whole_ = false;
    return;
  }
  const auto [kept, added] = pages_.try_emplace(first);
  if (!added) return;
  whole_ &= (bytes_ += bytes) <= most_bytes;
  if (!whole_) return;
  std::byte* const host = region.host + (first - region.address);
  kept->second = {host, {host, host + bytes}};
}

}  // namespace wm::vgpu::check
