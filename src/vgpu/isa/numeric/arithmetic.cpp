// Arithmetic: the host's own where it rounds the same way, exact integers and one rounding elsewhere.
#include "vgpu/isa/numeric/arithmetic.hpp"

#include <bit>
#include <cmath>
#include <limits>

#include "vgpu/isa/numeric/convert.hpp"
#include "vgpu/isa/numeric/exact.hpp"
#include "vgpu/isa/numeric/halves.hpp"

namespace wm::vgpu::numeric {

namespace {

float as_f32(std::uint64_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits)); }
double as_f64(std::uint64_t bits) { return std::bit_cast<double>(bits); }

std::uint64_t bits_of(float value) { return std::bit_cast<std::uint32_t>(value); }
std::uint64_t bits_of(double value) { return std::bit_cast<std::uint64_t>(value); }

// Where the host's own arithmetic, rounding to nearest, serves.
bool is_hosted(Format format) {
  return format == Format::f16 || format == Format::bf16 || format == Format::f32 || format == Format::f64;
}

// a + b rounded to odd: inexact sums end in a one, so a later rounding to fewer bits sees which side they lie on.
double odd_sum(double a, double b) {
  const double sum = a + b;
  if (!std::isfinite(sum)) return sum;
  const double part = sum - a;
  const double error = (a - (sum - part)) + (b - part);
  const auto bits = std::bit_cast<std::uint64_t>(sum);
  if (error == 0 || (bits & 1)) return sum;
  return std::bit_cast<double>((error > 0) == (sum > 0) ? bits + 1 : bits - 1);
}

// A double rounded to nearest in f16 or bf16, by way of an f32 rounded to odd.
std::uint64_t narrow(Format format, double value) {
  auto single = static_cast<float>(value);
  if (static_cast<double>(single) != value && !std::isnan(value)) {
    const auto bits = std::bit_cast<std::uint32_t>(single);
    const bool outward = std::abs(value) > std::abs(static_cast<double>(single));
    if (!(bits & 1)) single = std::bit_cast<float>(outward ? bits + 1 : bits - 1);
  }
  return format == Format::f16 ? f16_of_f32(single) : bf16_of_f32(single);
}

std::uint64_t not_a_number(Format format, const Mode& mode) {
  return finish(format, layout_of(format).canonical_nan, mode);
}
std::uint64_t infinity(Format format, bool negative, const Mode& mode) {
  const Layout layout = layout_of(format);
  return finish(format, layout.infinity() | (negative ? layout.sign_bit() : 0), mode);
}

// The NaN that f64 passes on, the first one in the order given; zero where there is none, and for other formats.
template <class... Operands>
std::uint64_t passed_on(Format format, Operands... operands) {
  std::uint64_t result = 0;
  if (format == Format::f64) static_cast<void>(((is_nan(format, operands) ? (result = quiet(operands)) : 0) || ...));
  return result;
}

// Whether the host's result stands: of the smallest normal number only exact arithmetic tells if .ftz flushes it.
bool is_final(Format format, std::uint64_t bits, const Mode& mode) {
  return !mode.ftz || magnitude(format, bits) != layout_of(format).smallest_normal();
}

// Rounds a sum; one that is exactly zero has the sign of both terms, or plus (minus when rounding down).
std::uint64_t pack_sum(Format format, const Exact& a, const Exact& b, const Mode& mode) {
  Exact sum = add(a, b);
  if (sum.significand == 0) {
    const bool both_zero = a.significand == 0 && b.significand == 0;
    sum.negative = both_zero && a.negative == b.negative ? a.negative : mode.rounding == Rounding::rm;
  }
  return pack(format, sum, mode);
}

}  // namespace

std::uint64_t add(Format format, std::uint64_t a, std::uint64_t b, const Mode& mode) {
  if (mode.ftz) a = flush(format, a), b = flush(format, b);
  if (const std::uint64_t nan = passed_on(format, b, a)) return nan;
  if (mode.rounding == Rounding::rn && is_hosted(format)) {  // subnormal sums are exact: .ftz needs no second look
    const std::uint64_t sum = format == Format::f32   ? bits_of(as_f32(a) + as_f32(b))
                              : format == Format::f64 ? bits_of(as_f64(a) + as_f64(b))
                                                      : narrow(format, odd_sum(f64_of(format, a), f64_of(format, b)));
    return finish(format, sum, mode);
  }
  if (is_nan(format, a) || is_nan(format, b)) return not_a_number(format, mode);
  const bool a_infinite = is_infinite(format, a), b_infinite = is_infinite(format, b);
  if (a_infinite && b_infinite && a != b) return not_a_number(format, mode);
  if (a_infinite || b_infinite) return infinity(format, is_negative(format, a_infinite ? a : b), mode);
  return pack_sum(format, unpack(format, a), unpack(format, b), mode);
}

std::uint64_t subtract(Format format, std::uint64_t a, std::uint64_t b, const Mode& mode) {
  if (const std::uint64_t nan = passed_on(format, b, a)) return nan;
  return add(format, a, b ^ layout_of(format).sign_bit(), mode);
}

std::uint64_t multiply(Format format, std::uint64_t a, std::uint64_t b, const Mode& mode) {
  if (mode.ftz) a = flush(format, a), b = flush(format, b);
  if (const std::uint64_t nan = passed_on(format, b, a)) return nan;
  if (mode.rounding == Rounding::rn && is_hosted(format)) {
    const std::uint64_t product = format == Format::f32   ? bits_of(as_f32(a) * as_f32(b))
                                  : format == Format::f64 ? bits_of(as_f64(a) * as_f64(b))
                                                          : narrow(format, f64_of(format, a) * f64_of(format, b));
    if (is_final(format, product, mode)) return finish(format, product, mode);
  }
  if (is_nan(format, a) || is_nan(format, b)) return not_a_number(format, mode);
  if (is_infinite(format, a) || is_infinite(format, b)) {
    if (is_zero(format, a) || is_zero(format, b)) return not_a_number(format, mode);
    return infinity(format, is_negative(format, a) != is_negative(format, b), mode);
  }
  return pack(format, multiply(unpack(format, a), unpack(format, b)), mode);
}

std::uint64_t fma(Format format, std::uint64_t a, std::uint64_t b, std::uint64_t c, const Mode& mode) {
  if (mode.ftz) a = flush(format, a), b = flush(format, b), c = flush(format, c);
  if (const std::uint64_t nan = passed_on(format, b, c, a)) return nan;
  if (mode.rounding == Rounding::rn && is_hosted(format)) {
    const std::uint64_t sum = format == Format::f32 ? bits_of(std::fma(as_f32(a), as_f32(b), as_f32(c)))
                              : format == Format::f64
                                  ? bits_of(std::fma(as_f64(a), as_f64(b), as_f64(c)))
                                  : narrow(format, odd_sum(f64_of(format, a) * f64_of(format, b), f64_of(format, c)));
    if (is_final(format, sum, mode)) return finish(format, sum, mode);
  }
  if (is_nan(format, a) || is_nan(format, b) || is_nan(format, c)) return not_a_number(format, mode);
  const bool negative = is_negative(format, a) != is_negative(format, b);
  if (is_infinite(format, a) || is_infinite(format, b)) {
    const bool invalid =
        is_zero(format, a) || is_zero(format, b) || (is_infinite(format, c) && is_negative(format, c) != negative);
    return invalid ? not_a_number(format, mode) : infinity(format, negative, mode);
  }
  if (is_infinite(format, c)) return infinity(format, is_negative(format, c), mode);
  return pack_sum(format, multiply(unpack(format, a), unpack(format, b)), unpack(format, c), mode);
}

std::uint64_t divide(Format format, std::uint64_t a, std::uint64_t b, const Mode& mode) {
  if (mode.ftz) a = flush(format, a), b = flush(format, b);
  if (const std::uint64_t nan = passed_on(format, a, b)) return nan;
  if (mode.rounding == Rounding::rn && (format == Format::f32 || format == Format::f64)) {
    const std::uint64_t quotient =
        format == Format::f32 ? bits_of(as_f32(a) / as_f32(b)) : bits_of(as_f64(a) / as_f64(b));
    if (is_final(format, quotient, mode)) return finish(format, quotient, mode);
  }
  if (is_nan(format, a) || is_nan(format, b)) return not_a_number(format, mode);
  const bool negative = is_negative(format, a) != is_negative(format, b);
  const bool a_infinite = is_infinite(format, a), b_infinite = is_infinite(format, b);
  const bool a_zero = is_zero(format, a), b_zero = is_zero(format, b);
  if ((a_infinite && b_infinite) || (a_zero && b_zero)) return not_a_number(format, mode);
  if (a_infinite || b_zero) return infinity(format, negative, mode);
  if (b_infinite) return pack(format, {negative, 0, 0}, mode);
  return pack(format, divide(unpack(format, a), unpack(format, b)), mode);
}

std::uint64_t square_root(Format format, std::uint64_t a, const Mode& mode) {
  if (mode.ftz) a = flush(format, a);
  if (const std::uint64_t nan = passed_on(format, a)) return nan;
  if (is_nan(format, a)) return not_a_number(format, mode);
  if (is_zero(format, a)) return finish(format, a, mode);
  if (is_negative(format, a)) return not_a_number(format, mode);
  if (is_infinite(format, a)) return infinity(format, false, mode);
  if (mode.rounding == Rounding::rn) {
    if (format == Format::f32) return finish(format, bits_of(std::sqrt(as_f32(a))), mode);
    if (format == Format::f64) return finish(format, bits_of(std::sqrt(as_f64(a))), mode);
  }
  return pack(format, square_root(unpack(format, a)), mode);
}

std::uint64_t reciprocal(Format format, std::uint64_t a, const Mode& mode) {
  return divide(format, layout_of(format).one(), a, mode);
}

std::uint64_t negate(Format format, std::uint64_t a, bool ftz) {
  if (const std::uint64_t nan = passed_on(format, a)) return nan;  // sign and all
  return finish(format, a ^ layout_of(format).sign_bit(), {.ftz = ftz});
}

std::uint64_t absolute(Format format, std::uint64_t a, bool ftz) {
  if (const std::uint64_t nan = passed_on(format, a)) return nan;
  return finish(format, magnitude(format, a), {.ftz = ftz});
}

std::uint64_t copy_sign(Format format, std::uint64_t sign_from, std::uint64_t number) {
  return magnitude(format, number) | (sign_from & layout_of(format).sign_bit());
}

namespace {

// The bits as an integer that orders like the numbers, -0 below +0.
std::int64_t rank(Format format, std::uint64_t bits) {
  const auto size = static_cast<std::int64_t>(magnitude(format, bits));
  return is_negative(format, bits) ? -size - 1 : size;
}

std::uint64_t extreme(Format format, std::uint64_t a, std::uint64_t b, const MinMaxMode& mode, bool largest) {
  if (mode.ftz) a = flush(format, a), b = flush(format, b);
  const Layout layout = layout_of(format);
  const std::uint64_t sign = mode.xorsign_abs ? (a ^ b) & layout.sign_bit() : 0;
  if (mode.xorsign_abs) a = magnitude(format, a), b = magnitude(format, b);
  const bool a_nan = is_nan(format, a), b_nan = is_nan(format, b);
  if (a_nan && b_nan && format == Format::f64) return passed_on(format, b);
  if ((a_nan && b_nan) || (mode.nan && (a_nan || b_nan))) return layout.canonical_nan;
  if (a_nan || b_nan) return sign | (a_nan ? b : a);
  const bool take_a = largest ? rank(format, a) >= rank(format, b) : rank(format, a) <= rank(format, b);
  return sign | (take_a ? a : b);
}

}  // namespace

std::uint64_t minimum(Format format, std::uint64_t a, std::uint64_t b, const MinMaxMode& mode) {
  return extreme(format, a, b, mode, false);
}
std::uint64_t maximum(Format format, std::uint64_t a, std::uint64_t b, const MinMaxMode& mode) {
  return extreme(format, a, b, mode, true);
}

bool compare(Comparison comparison, Format format, std::uint64_t a, std::uint64_t b, bool ftz) {
  if (ftz) a = flush(format, a), b = flush(format, b);
  const double x = f64_of(format, a), y = f64_of(format, b);
  const bool unordered = std::isnan(x) || std::isnan(y);
  switch (comparison) {
    case Comparison::eq: return x == y;
    case Comparison::ne: return !unordered && x != y;
    case Comparison::lt: return x < y;
    case Comparison::le: return x <= y;
    case Comparison::gt: return x > y;
    case Comparison::ge: return x >= y;
    case Comparison::equ: return unordered || x == y;
    case Comparison::neu: return unordered || x != y;
    case Comparison::ltu: return unordered || x < y;
    case Comparison::leu: return unordered || x <= y;
    case Comparison::gtu: return unordered || x > y;
    case Comparison::geu: return unordered || x >= y;
    case Comparison::num: return !unordered;
    case Comparison::nan: return unordered;
  }
  return false;
}

bool test_property(Property property, Format format, std::uint64_t a) {
  const bool nan = is_nan(format, a), infinite = is_infinite(format, a);
  switch (property) {
    case Property::finite: return !nan && !infinite;
    case Property::infinite: return infinite;
    case Property::number: return !nan;
    case Property::notanumber: return nan;
    case Property::normal: return !nan && !infinite && !is_subnormal(format, a);  // zero counts as normal
    case Property::subnormal: return is_subnormal(format, a);
  }
  return false;
}

}  // namespace wm::vgpu::numeric
