// Formats of sm_100a that are narrower than 8 bits, and ue8m0, the exponent alone. None has an infinity; only ue8m0 has
// a NaN. Bits in, bits out.
#pragma once

#include <cstdint>

namespace wm::vgpu::numeric {

enum class Narrow : std::uint8_t { e2m1, e2m3, e3m2 };

constexpr int bits_of(Narrow format) { return format == Narrow::e2m1 ? 4 : 6; }

// cvt.rn.satfinite{.relu}: to nearest, ties to even; beyond the largest number that number, and NaN too.
std::uint32_t narrow_of_f32(Narrow to, std::uint32_t bits, bool relu);
std::uint32_t f32_of_narrow(Narrow from, std::uint32_t bits);

// cvt.rz and .rp to ue8m0: the power of two that is not larger, or not smaller, than the size of the number.
std::uint32_t ue8m0_of_f32(std::uint32_t bits, bool up, bool satfinite);
std::uint32_t bf16_of_ue8m0(std::uint32_t bits);
// A block's scale, ue8m0 or otherwise ue4m3.
float scale_number(std::uint32_t bits, bool ue8m0);

}  // namespace wm::vgpu::numeric
