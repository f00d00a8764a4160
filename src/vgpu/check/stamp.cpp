// Of many actions, those that must be kept.
#include "vgpu/check/stamp.hpp"

#include <algorithm>

namespace wm::vgpu::check {

void keep_last(std::vector<Stamp>& stamps) {
  std::stable_sort(stamps.begin(), stamps.end(), [](const Stamp& a, const Stamp& b) { return a.warp < b.warp; });
  // Lanes of this warp that did something later, and those of them that did something ordinary: such an access races
  // where a strong one does not, so a strong one does not take its place. Asynchronous work stands for itself.
  u32 warp = 0, later = 0, later_ordinary = 0;
  for (auto stamp = stamps.rbegin(); stamp != stamps.rend(); ++stamp) {
    if (stamp->warp != warp) later = later_ordinary = 0;
    warp = stamp->warp;
    if (stamp->async != 0) continue;
    stamp->lanes &= ~(stamp->strong ? later : later_ordinary);
    later |= stamp->lanes;
    if (!stamp->strong) later_ordinary |= stamp->lanes;
  }
  std::erase_if(stamps, [](const Stamp& stamp) { return !stamp.exists(); });
}

}  // namespace wm::vgpu::check
