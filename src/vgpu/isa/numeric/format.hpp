// The floating-point formats of PTX as values, and the modifiers that say how a result is rounded into one.
// A number travels as its bits in the low part of a std::uint64_t; tf32 is an f32 whose low 13 mantissa bits are zero.
#pragma once

#include <cstdint>

namespace wm::vgpu::numeric {

enum class Format : std::uint8_t { e4m3, e5m2, f16, bf16, tf32, f32, f64 };

enum class Rounding : std::uint8_t {
  rn,   // nearest, ties to even
  rz,   // toward zero
  rm,   // toward minus infinity
  rp,   // toward plus infinity
  rna,  // nearest, ties away from zero (tf32)
};

// What may follow an instruction's opcode. Flags an instruction does not have are left false by its decoder.
struct Mode {
  Rounding rounding = Rounding::rn;
  bool ftz = false;        // subnormal inputs and results become zeros of their sign
  bool sat = false;        // the result is clamped to [0, 1], NaN becomes +0
  bool satfinite = false;  // a result past the largest finite number becomes that number
  bool relu = false;       // a negative result becomes +0; NaN stays NaN
};

// How a format is laid out: sign, exponent, mantissa from the top, `unused` zero bits below (tf32 only).
struct Layout {
  int exponent_bits, mantissa_bits, unused;
  std::uint64_t canonical_nan;
  bool has_infinity;  // e4m3 has none: its top exponent holds numbers, and all ones are NaN

  constexpr int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  constexpr int lowest_exponent() const { return 1 - bias(); }  // of normal numbers
  constexpr int width() const { return 1 + exponent_bits + mantissa_bits + unused; }
  constexpr std::uint64_t sign_bit() const { return std::uint64_t{1} << (width() - 1); }
  constexpr std::uint64_t exponent_ones() const { return (std::uint64_t{1} << exponent_bits) - 1; }
  constexpr std::uint64_t infinity() const { return exponent_ones() << (mantissa_bits + unused); }
  constexpr std::uint64_t one() const { return std::uint64_t(bias()) << (mantissa_bits + unused); }
  constexpr std::uint64_t largest() const {  // finite
    return has_infinity ? infinity() - (std::uint64_t{1} << unused) : canonical_nan - 1;
  }
  constexpr std::uint64_t smallest_normal() const { return std::uint64_t{1} << (mantissa_bits + unused); }
};

// Canonical NaNs are the chip's: all ones but the sign, except in f64, where it answers an invalid operation.
constexpr Layout layout_of(Format format) {
  switch (format) {
    case Format::e4m3: return {4, 3, 0, 0x7f, false};
    case Format::e5m2: return {5, 2, 0, 0x7f, true};
    case Format::f16: return {5, 10, 0, 0x7fff, true};
    case Format::bf16: return {8, 7, 0, 0x7fff, true};
    case Format::tf32: return {8, 10, 13, 0x7fffe000, true};
    case Format::f32: return {8, 23, 0, 0x7fffffff, true};
    case Format::f64: return {11, 52, 0, 0xfff8000000000000, true};
  }
  return {};
}

constexpr std::uint64_t magnitude(Format format, std::uint64_t bits) {
  return bits & (layout_of(format).sign_bit() - 1);
}
constexpr bool is_negative(Format format, std::uint64_t bits) { return (bits & layout_of(format).sign_bit()) != 0; }
constexpr bool is_nan(Format format, std::uint64_t bits) {
  const Layout layout = layout_of(format);
  return layout.has_infinity ? magnitude(format, bits) > layout.infinity()
                             : magnitude(format, bits) == layout.canonical_nan;
}
constexpr bool is_infinite(Format format, std::uint64_t bits) {
  const Layout layout = layout_of(format);
  return layout.has_infinity && magnitude(format, bits) == layout.infinity();
}
constexpr bool is_zero(Format format, std::uint64_t bits) { return magnitude(format, bits) == 0; }
constexpr bool is_subnormal(Format format, std::uint64_t bits) {
  return !is_zero(format, bits) && magnitude(format, bits) < layout_of(format).smallest_normal();
}

// A NaN of f64 as an operation passes it on: quiet, with its sign and payload. Other formats answer their canonical
// NaN.
constexpr std::uint64_t quiet(std::uint64_t nan) { return nan | std::uint64_t{1} << 51; }

// A subnormal number as .ftz sees it.
constexpr std::uint64_t flush(Format format, std::uint64_t bits) {
  return is_subnormal(format, bits) ? bits & layout_of(format).sign_bit() : bits;
}

}  // namespace wm::vgpu::numeric
