// .approx functions through the host's double precision, with the chip's special cases.
#include "vgpu/isa/numeric/approximate.hpp"

#include <bit>
#include <cmath>

#include "vgpu/isa/numeric/convert.hpp"
#include "vgpu/isa/numeric/exponential.hpp"

namespace wm::vgpu::numeric {

namespace {

constexpr std::uint32_t canonical_nan = layout_of(Format::f32).canonical_nan;

double input(std::uint32_t bits, bool ftz) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(ftz ? flush(Format::f32, bits) : bits));
}

std::uint32_t output(double value, bool ftz) {
  if (std::isnan(value)) return canonical_nan;
  const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
  return ftz ? static_cast<std::uint32_t>(flush(Format::f32, bits)) : bits;
}

}  // namespace

std::uint32_t ex2_approx(std::uint32_t a, bool ftz) { return exp2_bits(a, ftz); }
std::uint32_t lg2_approx(std::uint32_t a, bool ftz) { return output(std::log2(input(a, ftz)), ftz); }
std::uint32_t rcp_approx(std::uint32_t a, bool ftz) { return output(1.0 / input(a, ftz), ftz); }
std::uint32_t sqrt_approx(std::uint32_t a, bool ftz) { return output(std::sqrt(input(a, ftz)), ftz); }
std::uint32_t sin_approx(std::uint32_t a, bool ftz) { return output(std::sin(input(a, ftz)), ftz); }
std::uint32_t cos_approx(std::uint32_t a, bool ftz) { return output(std::cos(input(a, ftz)), ftz); }
std::uint32_t tanh_approx(std::uint32_t a) { return output(std::tanh(input(a, false)), false); }
std::uint32_t rsqrt_approx(std::uint32_t a, bool ftz) {
  return output(1.0 / std::sqrt(input(a, ftz)), ftz);  // of -0 it is -infinity, as on the chip
}

std::uint32_t div_full(std::uint32_t a, std::uint32_t b, bool ftz) {
  return output(input(a, ftz) / input(b, ftz), ftz);
}

std::uint32_t div_approx(std::uint32_t a, std::uint32_t b, bool ftz) {
  const double dividend = input(a, ftz), divisor = input(b, ftz);
  // The chip multiplies by the reciprocal, which is flushed to zero for divisors above 2^126.
  if (std::isfinite(divisor) && std::abs(divisor) > 0x1p126) return output(dividend * std::copysign(0.0, divisor), ftz);
  return output(dividend / divisor, ftz);
}

namespace {

// The upper word of the number, the lower zero; NaN as the chip writes it.
std::uint64_t upper_word(double value) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  if (std::isnan(value)) return 0x7fffffff00000000;
  return (std::isinf(value) ? bits : flush(Format::f64, bits)) & 0xffffffff00000000;
}
double upper_input(std::uint64_t bits) { return std::bit_cast<double>(flush(Format::f64, bits & 0xffffffff00000000)); }

}  // namespace

std::uint64_t rcp_approx_f64(std::uint64_t a) { return upper_word(1.0 / upper_input(a)); }
std::uint64_t rsqrt_approx_f64(std::uint64_t a) { return upper_word(1.0 / std::sqrt(upper_input(a))); }

std::uint64_t rsqrt_f64(std::uint64_t a) {
  return std::bit_cast<std::uint64_t>(1.0 / std::sqrt(std::bit_cast<double>(a)));
}

std::uint16_t ex2_approx_half(Format format, std::uint16_t a, bool ftz) {
  const std::uint64_t number = ftz ? flush(format, a) : a;
  const double value = std::exp2(f64_of(format, number));
  return static_cast<std::uint16_t>(convert(format, Format::f64, std::bit_cast<std::uint64_t>(value), {.ftz = ftz}));
}

std::uint16_t tanh_approx_half(Format format, std::uint16_t a) {
  const double value = std::tanh(f64_of(format, a));
  return static_cast<std::uint16_t>(convert(format, Format::f64, std::bit_cast<std::uint64_t>(value)));
}

}  // namespace wm::vgpu::numeric
