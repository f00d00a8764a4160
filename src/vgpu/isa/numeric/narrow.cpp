// Conversions of the narrow formats, through doubles, which hold all of their numbers.
#include "vgpu/isa/numeric/narrow.hpp"

#include <algorithm>
#include <cmath>

#include "vgpu/isa/numeric/halves.hpp"

namespace wm::vgpu::numeric {

namespace {

struct Fields {
  int mantissa_bits, bias;
};
constexpr Fields fields_of(Narrow format) {
  switch (format) {
    case Narrow::e2m1: return {1, 1};
    case Narrow::e2m3: return {3, 1};
    case Narrow::e3m2: return {2, 3};
  }
  return {};
}

}  // namespace

std::uint32_t narrow_of_f32(Narrow to, std::uint32_t bits, bool relu) {
  const auto [mantissa_bits, bias] = fields_of(to);
  const std::uint32_t sign = bits_of(to) == 4 ? 8 : 32, largest = sign - 1;
  const double value = f32_from(bits);
  if (value != value) return largest;
  if (relu && std::signbit(value)) return 0;
  const double size = std::fabs(value);
  int above = 1 - bias;  // size < 2^above
  if (size != 0) std::frexp(size, &above);
  const int exponent = std::clamp(above - 1, 1 - bias, bias + 3);
  // In steps of the last place: 2^mantissa_bits of them for each exponent, those of the lowest one from zero on.
  const double steps = std::nearbyint(std::ldexp(size, mantissa_bits - exponent));
  const double number = steps + std::ldexp(exponent - (1 - bias), mantissa_bits);
  const std::uint32_t magnitude = number > largest ? largest : static_cast<std::uint32_t>(number);
  return magnitude | (std::signbit(value) ? sign : 0);
}

std::uint32_t f32_of_narrow(Narrow from, std::uint32_t bits) {
  const auto [mantissa_bits, bias] = fields_of(from);
  const std::uint32_t sign = bits_of(from) == 4 ? 8 : 32;
  const int mantissa = static_cast<int>(bits & ((1u << mantissa_bits) - 1));
  const int exponent = static_cast<int>((bits & (sign - 1)) >> mantissa_bits);
  const int whole = exponent == 0 ? mantissa : mantissa + (1 << mantissa_bits);
  const double size = std::ldexp(whole, std::max(exponent, 1) - bias - mantissa_bits);
  return f32_bits(static_cast<float>(bits & sign ? -size : size));
}

std::uint32_t ue8m0_of_f32(std::uint32_t bits, bool up, bool satfinite) {
  const std::uint32_t size = bits & 0x7fffffff, smallest = 0x00400000;  // 2^-127, which is 0
  if (size > 0x7f800000) return 0xff;
  std::uint32_t exponent = size >> 23;
  if (up && (size & 0x7fffff) != 0 && size > smallest) ++exponent;
  return satfinite ? std::min(exponent, 0xfeu) : exponent;
}

std::uint32_t bf16_of_ue8m0(std::uint32_t bits) { return bits == 0 ? 0x0040 : bits == 0xff ? 0x7fff : bits << 7; }

float scale_number(std::uint32_t bits, bool ue8m0) {
  return ue8m0 ? f32_of_bf16(bf16_of_ue8m0(bits)) : f32_of_e4m3(bits);
}

}  // namespace wm::vgpu::numeric
