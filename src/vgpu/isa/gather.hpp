// Bringing together the lanes that a .sync instruction names.
#pragma once

#include <bit>
#include <optional>

#include "vgpu/isa/lanes.hpp"

namespace wm::vgpu::isa {

// The lane runs an instruction whose mask does not name it: a fault.
[[noreturn]] void not_in_mask(const Warp& warp, u32 named, u32 lane);

// Nothing once all live lanes of the members' mask are here: `active` is then exactly those. Else what the handler must
// return. Lanes with other masks stay at the instruction, as a part of their own.
inline std::optional<Step> gather(Warp& warp, Operand members, u32& active) {
  const u32* masks = warp.source32(members);
  const u32 named = masks[std::countr_zero(active)];
  const u32 others = active & ballot_of([&](u32 i) { return masks[i] != named; });
  if (others != 0) [[unlikely]] {
    warp.split(others, warp.pc - 1);
    active &= ~others;
  }
  if ((active & ~named) != 0) [[unlikely]]
    not_in_mask(warp, named, static_cast<u32>(std::countr_zero(active & ~named)));
  if (!warp.together(named, active)) return warp.wait_for_lanes(named, active);
  return std::nullopt;
}

// The same for instructions that all live lanes of the warp must execute (.sync.aligned).
inline std::optional<Step> gather_warp(Warp& warp, u32& active) {
  if (!warp.together(all_lanes, active)) return warp.wait_for_lanes(all_lanes, active);
  return std::nullopt;
}

}  // namespace wm::vgpu::isa
