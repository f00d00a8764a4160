// Unpacking, exact arithmetic on wide integers, and the one rounding function.
#include "vgpu/isa/numeric/exact.hpp"

#include <algorithm>
#include <bit>

namespace wm::vgpu::numeric {

int bit_width(Wide value) {
  const auto high = static_cast<std::uint64_t>(value >> 64);
  return high ? 64 + std::bit_width(high) : std::bit_width(static_cast<std::uint64_t>(value));
}

Exact unpack(Format format, std::uint64_t bits) {
  const Layout layout = layout_of(format);
  const std::uint64_t number = magnitude(format, bits) >> layout.unused;
  const std::uint64_t mantissa = number & ((std::uint64_t{1} << layout.mantissa_bits) - 1);
  const int biased = static_cast<int>(number >> layout.mantissa_bits);
  const std::uint64_t hidden = biased ? std::uint64_t{1} << layout.mantissa_bits : 0;
  return {is_negative(format, bits), std::max(biased, 1) - layout.bias() - layout.mantissa_bits, hidden | mantissa};
}

namespace {

// The value times 2^-shift, lost bits remembered in the lowest one.
Wide shift_right_sticky(Wide value, int shift) {
  if (shift >= 128) return value != 0;
  return shift == 0 ? value : (value >> shift) | ((value << (128 - shift)) != 0);
}

// The same number with its highest bit at place 125, so that a sum of two does not overflow.
Exact raised(Exact value) {
  const int shift = 126 - bit_width(value.significand);
  value.significand = shift >= 0 ? value.significand << shift : shift_right_sticky(value.significand, -shift);
  value.exponent -= shift;
  return value;
}

}  // namespace

Exact add(const Exact& a, const Exact& b) {
  if (a.significand == 0) return b;
  if (b.significand == 0) return a;
  Exact large = raised(a), small = raised(b);
  if (large.exponent < small.exponent) std::swap(large, small);
  // At least 20 bits of a raised product are zero, so a shift that loses any is too long for the sum to cancel.
  small.significand = shift_right_sticky(small.significand, large.exponent - small.exponent);
  if (large.negative == small.negative) {
    large.significand += small.significand;
  } else if (large.significand >= small.significand) {
    large.significand -= small.significand;
  } else {
    large.significand = small.significand - large.significand;
    large.negative = small.negative;
  }
  return large;
}

Exact multiply(const Exact& a, const Exact& b) {
  return {a.negative != b.negative, a.exponent + b.exponent, a.significand * b.significand};
}

Exact divide(const Exact& a, const Exact& b) {
  if (a.significand == 0) return {a.negative != b.negative, 0, 0};
  const Exact dividend = raised(a);  // 126 bits over at most 53: at least 73 bits of quotient
  const Wide quotient = dividend.significand / b.significand;
  const bool remainder = quotient * b.significand != dividend.significand;
  return {a.negative != b.negative, dividend.exponent - b.exponent, quotient | remainder};
}

Exact square_root(const Exact& a) {
  if (a.significand == 0) return a;
  Exact radicand = raised(a);
  if (radicand.exponent & 1) {  // an even exponent can be halved
    radicand.significand <<= 1;
    --radicand.exponent;
  }
  Wide rest = radicand.significand, root = 0;
  for (Wide bit = Wide{1} << 126; bit != 0; bit >>= 2) {
    if (rest >= root + bit) {
      rest -= root + bit;
      root = (root >> 1) + bit;
    } else {
      root >>= 1;
    }
  }
  return {false, radicand.exponent / 2 - 1, root << 1 | (rest != 0)};
}

Exact round_to_multiple(const Exact& value, int exponent, Rounding rounding) {
  const int shift = exponent - value.exponent;
  if (value.significand == 0) return {value.negative, exponent, 0};
  if (shift <= 0) return value;
  const Wide kept = shift >= 128 ? 0 : value.significand >> shift;
  // What is cut off, as 0 (nothing), 1 (less than half), 2 (half), 3 (more).
  int rest = 1;
  if (shift <= 128) {
    const Wide cut = value.significand << (128 - shift);
    constexpr Wide half = Wide{1} << 127;
    rest = cut == 0 ? 0 : cut < half ? 1 : cut == half ? 2 : 3;
  }
  bool up = false;
  switch (rounding) {
    case Rounding::rn: up = rest == 3 || (rest == 2 && (kept & 1)); break;
    case Rounding::rna: up = rest >= 2; break;
    case Rounding::rz: break;
    case Rounding::rm: up = rest != 0 && value.negative; break;
    case Rounding::rp: up = rest != 0 && !value.negative; break;
  }
  return {value.negative, exponent, kept + up};
}

std::uint64_t pack(Format format, const Exact& value, const Mode& mode) {
  const Layout layout = layout_of(format);
  const std::uint64_t sign = value.negative ? layout.sign_bit() : 0;
  if (value.significand == 0) return finish(format, sign, mode);
  const int highest = value.exponent + bit_width(value.significand) - 1;
  // .ftz flushes what would be subnormal if exponents had no end: what rounds up to the smallest normal number only
  // because subnormals have fewer bits is flushed too.
  if (mode.ftz && highest < layout.lowest_exponent()) {
    const Exact unbounded = round_to_multiple(value, highest - layout.mantissa_bits, mode.rounding);
    if (unbounded.exponent + bit_width(unbounded.significand) <= layout.lowest_exponent())
      return finish(format, sign, mode);
  }
  const int quantum = std::max(highest, layout.lowest_exponent()) - layout.mantissa_bits;
  Exact rounded = round_to_multiple(value, quantum, mode.rounding);
  rounded.significand <<= rounded.exponent - quantum;  // exact: it has fewer bits than the format
  // Counted in steps of the format, exponent and mantissa run on into each other: a carry needs no special case.
  const Wide steps =
      rounded.significand + (Wide(quantum + layout.mantissa_bits - layout.lowest_exponent()) << layout.mantissa_bits);
  const Wide overflow = (layout.largest() >> layout.unused) + 1;
  if (steps < overflow) return finish(format, sign | static_cast<std::uint64_t>(steps) << layout.unused, mode);
  const bool stops_at_largest = mode.satfinite || mode.rounding == Rounding::rz ||
                                mode.rounding == (value.negative ? Rounding::rp : Rounding::rm);
  const std::uint64_t beyond = layout.has_infinity ? layout.infinity() : layout.canonical_nan;
  return finish(format, sign | (stops_at_largest ? layout.largest() : beyond), mode);
}

std::uint64_t finish(Format format, std::uint64_t bits, const Mode& mode) {
  const Layout layout = layout_of(format);
  if (is_nan(format, bits)) return mode.sat ? 0 : layout.canonical_nan;
  if (mode.ftz) bits = flush(format, bits);
  if (mode.satfinite && is_infinite(format, bits)) bits = (bits & layout.sign_bit()) | layout.largest();
  if ((mode.sat || mode.relu) && is_negative(format, bits)) return 0;
  return mode.sat ? std::min(bits, layout.one()) : bits;
}

}  // namespace wm::vgpu::numeric
