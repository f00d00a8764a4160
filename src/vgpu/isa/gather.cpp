// Words about lanes that are not among those that a .sync instruction names.
#include "vgpu/isa/gather.hpp"

#include <fmt/format.h>

namespace wm::vgpu::isa {

void not_in_mask(const Warp& warp, u32 named, u32 lane) {
  warp.fault(fmt::format("the lane is not in the mask {:#010x} of lanes that are to take part", named), lane);
}

}  // namespace wm::vgpu::isa
