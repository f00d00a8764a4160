// .approx functions through the host's double precision, with the chip's special cases.
#include "vgpu/isa/numeric/approximate.hpp"

#include <bit>
#include <cmath>

#include "vgpu/isa/numeric/arithmetic.hpp"
#include "vgpu/isa/numeric/convert.hpp"
#include "vgpu/isa/numeric/exact.hpp"
#include "vgpu/isa/numeric/exponential.hpp"

namespace wm::vgpu::numeric {

namespace {

constexpr std::uint32_t canonical_nan = layout_of(Format::f32).canonical_nan;

double input(std::uint32_t bits, bool ftz) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(ftz ? flush(Format::f32, bits) : bits));
}

std::uint32_t output(double value, bool ftz) {
  if (std::isnan(value)) return canonical_nan;
  // What .ftz flushes is told before subnormals lose bits: below this, 24 bits do not round up to 2^-126.
  if (ftz && std::abs(value) < 0x1p-126 - 0x1p-151) value = std::copysign(0.0, value);
  return std::bit_cast<std::uint32_t>(static_cast<float>(value));
}

// The angle's size as the chip takes it: it multiplies by 1/(2 pi) in f32, toward zero, and goes on with turns, so
// large angles lose what f32 has no bits for.
double angle(std::uint32_t a, bool ftz) {
  constexpr std::uint32_t turns_per_radian = 0x3e22f983;
  const std::uint64_t turns = multiply(Format::f32, a & 0x7fffffff, turns_per_radian, {Rounding::rz, ftz});
  const double count = f64_of(Format::f32, turns);
  return (count - std::nearbyint(count)) * 6.283185307179586477;
}

}  // namespace

std::uint32_t ex2_approx(std::uint32_t a, bool ftz) { return exp2_bits(a, ftz); }
std::uint32_t lg2_approx(std::uint32_t a, bool ftz) { return output(std::log2(input(a, ftz)), ftz); }
std::uint32_t rcp_approx(std::uint32_t a, bool ftz) { return output(1.0 / input(a, ftz), ftz); }
std::uint32_t sqrt_approx(std::uint32_t a, bool ftz) { return output(std::sqrt(input(a, ftz)), ftz); }
std::uint32_t sin_approx(std::uint32_t a, bool ftz) {
  const double size = std::sin(angle(a, ftz));
  return output(a >> 31 ? -size : size, ftz);
}
std::uint32_t cos_approx(std::uint32_t a, bool ftz) { return output(std::cos(angle(a, ftz)), ftz); }
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

namespace {

std::uint16_t half_output(Format format, double value, bool ftz) {
  const std::uint64_t bits = convert(format, Format::f64, std::bit_cast<std::uint64_t>(value));
  return static_cast<std::uint16_t>(finish(format, bits, {.ftz = ftz}));
}

}  // namespace

std::uint16_t ex2_approx_half(Format format, std::uint16_t a, bool ftz) {
  return half_output(format, std::exp2(f64_of(format, ftz ? flush(format, a) : a)), ftz);
}

std::uint16_t tanh_approx_half(Format format, std::uint16_t a) {
  return half_output(format, std::tanh(f64_of(format, a)), false);
}

}  // namespace wm::vgpu::numeric
