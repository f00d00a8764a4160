// An independent, slow way to round: all finite values of a format in a sorted table, and a choice between neighbours.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "vgpu/isa/numeric/format.hpp"

namespace wm::vgpu::numeric::reference {

// The value of finite bits by the definition of the format.
inline double value_of(Format format, std::uint64_t bits) {
  const Layout layout = layout_of(format);
  bits >>= layout.unused;
  const auto mantissa = static_cast<double>(bits & ((std::uint64_t{1} << layout.mantissa_bits) - 1));
  const int exponent = static_cast<int>(bits >> layout.mantissa_bits & layout.exponent_ones());
  const double fraction = mantissa / std::ldexp(1.0, layout.mantissa_bits);
  const double size =
      exponent == 0 ? std::ldexp(fraction, 1 - layout.bias()) : std::ldexp(1.0 + fraction, exponent - layout.bias());
  return bits >> (layout.exponent_bits + layout.mantissa_bits) & 1 ? -size : size;
}

// Magnitudes of a format of at most 19 bits, in the order of their bits.
class Table {
 public:
  explicit Table(Format format) : layout_(layout_of(format)) {
    const std::uint64_t step = std::uint64_t{1} << layout_.unused;
    for (std::uint64_t bits = 0; bits <= layout_.largest(); bits += step) values_.push_back(value_of(format, bits));
    // One step past the largest, where overflow is decided.
    values_.push_back(2 * values_.back() - values_[values_.size() - 2]);
  }

  // Rounds a finite number given as its sign, an approximation of its magnitude and a function that compares the exact
  // magnitude with a double (negative, zero, positive).
  template <class Compare>
  std::uint64_t round(bool negative, double near, Compare compare, Rounding rounding, bool satfinite) const {
    const std::uint64_t sign = negative ? layout_.sign_bit() : 0;
    auto above = std::upper_bound(values_.begin(), values_.end(), near);
    std::size_t low = above == values_.begin() ? 0 : static_cast<std::size_t>(above - values_.begin()) - 1;
    low = std::min(low, values_.size() - 2);
    while (low > 0 && compare(values_[low]) < 0) --low;
    while (low + 2 < values_.size() && compare(values_[low + 1]) >= 0) ++low;
    std::size_t chosen = low;
    if (compare(values_[low]) != 0) {
      const double middle = (values_[low] + values_[low + 1]) / 2;
      const int side = compare(middle);
      switch (rounding) {
        case Rounding::rn: chosen += side > 0 || (side == 0 && low % 2 == 1); break;
        case Rounding::rna: chosen += side >= 0; break;
        case Rounding::rz: break;
        case Rounding::rm: chosen += negative; break;
        case Rounding::rp: chosen += !negative; break;
      }
    }
    if (chosen + 1 < values_.size()) return sign | chosen << layout_.unused;
    if (satfinite) return sign | layout_.largest();
    return layout_.has_infinity ? sign | layout_.infinity() : layout_.canonical_nan;
  }

  std::uint64_t round(double value, Rounding rounding, bool satfinite = false) const {
    const double size = std::abs(value);
    return round(
        std::signbit(value), size, [&](double other) { return (size > other) - (size < other); }, rounding, satfinite);
  }

 private:
  Layout layout_;
  std::vector<double> values_;
};

// f32 bits that matter: every upper half with lower halves around each format's halfway points.
inline std::vector<std::uint32_t> telling_f32() {
  std::vector<std::uint32_t> all;
  const std::uint32_t lows[] = {0, 1, 0x1000, 0x1001, 0x0fff, 0x7fff, 0x8000, 0x8001, 0xffff};
  for (std::uint32_t high = 0; high < 0x10000; high += 3)
    for (std::uint32_t low : lows) all.push_back(high << 16 | low);
  for (std::uint32_t high : {0x0000u, 0x0001u, 0x007fu, 0x0080u, 0x3f80u, 0x7f7fu, 0x7f80u, 0x7fc0u, 0x477fu, 0x43e0u})
    for (std::uint32_t low : lows) all.push_back(high << 16 | low), all.push_back((high | 0x8000u) << 16 | low);
  return all;
}

}  // namespace wm::vgpu::numeric::reference
