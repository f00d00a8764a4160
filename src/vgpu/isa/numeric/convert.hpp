// cvt: between floating formats, between them and integers, and the packed forms. Bits in, bits out.
#pragma once

#include <cstdint>

#include "vgpu/isa/numeric/format.hpp"

namespace wm::vgpu::numeric {

// An integer type of PTX. A value travels sign- or zero-extended to 64 bits.
struct Integer {
  int bits = 32;  // 2, 4, 8, 16, 32, 64
  bool is_signed = false;

  constexpr std::uint64_t extend(std::uint64_t value) const {
    if (bits == 64) return value;
    const std::uint64_t low = value & ((std::uint64_t{1} << bits) - 1);
    return is_signed && (low >> (bits - 1)) ? low | (~std::uint64_t{0} << bits) : low;
  }
  constexpr std::uint64_t lowest() const { return is_signed ? ~std::uint64_t{0} << (bits - 1) : 0; }
  constexpr std::uint64_t highest() const { return ~std::uint64_t{0} >> (64 - bits + (is_signed ? 1 : 0)); }
};

// cvt.to.from of floats; ftz is for f32, and not on the way to f16. From a format to itself it changes the number only
// by the mode's clamps.
std::uint64_t convert(Format to, Format from, std::uint64_t bits, const Mode& mode = {});

// cvt.rni/.rzi/.rmi/.rpi.f.f: to an integer, still a float. A zero keeps the sign of what it came from.
std::uint64_t round_to_integer(Format to, Format from, std::uint64_t bits, const Mode& mode);

// cvt.rni.. .int.float. What does not fit becomes the nearest integer that does. NaN becomes 0, or the highest bit
// alone where source or destination has 64 bits.
std::uint64_t to_integer(Integer to, Format from, std::uint64_t bits, Rounding rounding, bool ftz = false);

std::uint64_t from_integer(Format to, Integer from, std::uint64_t value, const Mode& mode = {});

// cvt.int.int: cut off, or clamped with .sat.
std::uint64_t convert_integer(Integer to, Integer from, std::uint64_t value, bool sat = false);

// Packed results: cvt.bf16x2.f32 d, high, low and its kin. `to` is f16, bf16, e4m3 or e5m2.
std::uint32_t pack_pair(Format to, Format from, std::uint64_t high, std::uint64_t low, const Mode& mode = {});
// cvt.e4m3x2.f16x2, cvt.f16x2.e5m2x2 and their kin.
std::uint32_t convert_pair(Format to, Format from, std::uint32_t pair, const Mode& mode = {});

double f64_of(Format format, std::uint64_t bits);  // exact; NaN gives NaN

}  // namespace wm::vgpu::numeric
