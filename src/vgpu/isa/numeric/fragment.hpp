// Fragments: how mma.sync and wgmma spread matrices over the registers of a warp.
//
// In lane l, with g = l / 4 and t = l % 4: register r of A holds bytes 4t to 4t+3 of chunk r / 2 (16 bytes along k) of
// row g + 8 * (r % 2); register r of B the same bytes of chunk r of column g; registers 4j to 4j+3 of an f32 or s32
// accumulator hold columns 8j + 2t and 8j + 2t + 1 of rows g and g + 8; f16 accumulators hold those pairs in one
// register.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "vgpu/isa/numeric/panel.hpp"

namespace wm::vgpu::numeric {

// Rows 0 to 7 (`half` 0) or 8 to 15 of A. Registers that a short form does not have are null and give zeros.
RawGroup rows_from_registers(const std::array<const std::uint32_t*, 4>& registers, int half);
RawGroup columns_from_registers(const std::array<const std::uint32_t*, 2>& registers);

enum class Sum : std::uint8_t { f16, f32, s32 };

struct Accumulation {
  Sum sum = Sum::f32;
  bool saturate = false;   // s32: clamp instead of wrapping
  bool accumulate = true;  // false: the accumulators' old values are not read
};

// multiply_panels for accumulators of any type, in place. `scratch` has room for 128 floats a group, unless the sum is
// f32.
void multiply_fragments(const Accumulation& how, const float* a, const float* b, int k, int groups,
                        std::uint32_t* const* rows, float* scratch);

}  // namespace wm::vgpu::numeric
