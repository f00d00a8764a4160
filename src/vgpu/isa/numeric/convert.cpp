// Conversions, all through one exact number and one rounding.
#include "vgpu/isa/numeric/convert.hpp"

#include <bit>

#include "vgpu/isa/numeric/exact.hpp"
#include "vgpu/isa/numeric/halves.hpp"

namespace wm::vgpu::numeric {

namespace {

// The mantissa of one format as another has it, cut at its end.
std::uint64_t moved_mantissa(const Layout& to, const Layout& from, std::uint64_t bits) {
  const int places = to.mantissa_bits + to.unused - from.mantissa_bits - from.unused;
  const std::uint64_t mantissa = bits & (from.smallest_normal() - 1);
  return places >= 0 ? mantissa << places : mantissa >> -places;
}

// A NaN of one format in another: canonical, but f64 passes sign and payload on, and takes them, made quiet.
std::uint64_t nan_of(Format to, Format from, std::uint64_t bits, const Mode& mode) {
  const Layout target = layout_of(to), source = layout_of(from);
  if (mode.sat) return 0;
  if (to != Format::f64 && from != Format::f64) return target.canonical_nan;
  if (mode.ftz && from == Format::f32) bits = source.canonical_nan;  // the chip flushes first, as f32
  const std::uint64_t quiet_bit = target.smallest_normal() >> 1, sign = is_negative(from, bits) ? target.sign_bit() : 0;
  return sign | target.infinity() | quiet_bit | moved_mantissa(target, source, bits);
}

// Conversions for which the chip only moves bits, whatever a NaN then becomes.
bool moves_bits(Format to, Format from, const Mode& mode) {
  if (to == Format::tf32) return mode.rounding == Rounding::rna;
  return to == Format::f32 && (from == Format::f32 || from == Format::bf16) && !mode.ftz && !mode.sat;
}
std::uint64_t moved_nan(Format to, Format from, std::uint64_t bits, const Mode& mode) {
  const Layout target = layout_of(to);
  const std::uint64_t step = std::uint64_t{1} << target.unused;
  const std::uint64_t sign = is_negative(from, bits) ? target.sign_bit() : 0;
  const std::uint64_t size = (target.infinity() | moved_mantissa(target, layout_of(from), bits)) & ~(step - 1);
  // satfinite of tf32 takes a step back from all that is past the largest number, NaN included.
  return sign | (mode.satfinite ? size - step : size);
}

// Infinity of one format in another, before the mode's clamps. A format without infinity takes its NaN, which satfinite
// then must not: hence the largest number.
std::uint64_t infinity_of(Format to, Format from, std::uint64_t bits, const Mode& mode) {
  const Layout layout = layout_of(to);
  const std::uint64_t sign = is_negative(from, bits) ? layout.sign_bit() : 0;
  if (layout.has_infinity) return sign | layout.infinity();
  return mode.satfinite ? sign | layout.largest() : layout.canonical_nan;
}

}  // namespace

std::uint64_t convert(Format to, Format from, std::uint64_t bits, const Mode& mode) {
  if (is_nan(from, bits))
    return moves_bits(to, from, mode) ? moved_nan(to, from, bits, mode) : nan_of(to, from, bits, mode);
  if (is_infinite(from, bits)) return finish(to, infinity_of(to, from, bits, mode), mode);
  // .ftz is for subnormal numbers of f32, and does nothing on the way to f16.
  Mode rest = mode;
  rest.ftz = mode.ftz && to == Format::f32;
  if (mode.ftz && from == Format::f32 && to != Format::f16) bits = flush(from, bits);
  return pack(to, unpack(from, bits), rest);
}

std::uint64_t round_to_integer(Format to, Format from, std::uint64_t bits, const Mode& mode) {
  if (is_nan(from, bits)) return nan_of(to, from, bits, mode);
  if (is_infinite(from, bits)) return finish(to, infinity_of(to, from, bits, mode), mode);
  if (mode.ftz) bits = flush(from, bits);
  return pack(to, round_to_multiple(unpack(from, bits), 0, mode.rounding), mode);
}

std::uint64_t to_integer(Integer to, Format from, std::uint64_t bits, Rounding rounding, bool ftz) {
  if (is_nan(from, bits)) {
    const bool wide = from == Format::f64 || to.bits == 64;
    return wide ? to.extend(std::uint64_t{1} << (to.bits - 1)) : 0;
  }
  const bool negative = is_negative(from, bits);
  if (is_infinite(from, bits)) return negative ? to.lowest() : to.highest();
  if (ftz) bits = flush(from, bits);
  const Exact whole = round_to_multiple(unpack(from, bits), 0, rounding);
  const bool too_wide = bit_width(whole.significand) + whole.exponent > 64;
  const std::uint64_t size =
      too_wide ? ~std::uint64_t{0} : static_cast<std::uint64_t>(whole.significand << whole.exponent);
  if (!negative) return size > to.highest() ? to.highest() : size;
  return size > std::uint64_t{0} - to.lowest() ? to.lowest() : std::uint64_t{0} - size;
}

std::uint64_t from_integer(Format to, Integer from, std::uint64_t value, const Mode& mode) {
  const std::uint64_t extended = from.extend(value);
  const bool negative = from.is_signed && (extended >> 63);
  return pack(to, {negative, 0, negative ? std::uint64_t{0} - extended : extended}, mode);
}

std::uint64_t convert_integer(Integer to, Integer from, std::uint64_t value, bool sat) {
  const std::uint64_t extended = from.extend(value);
  if (!sat) return to.extend(extended);
  if (from.is_signed && (extended >> 63)) {
    const bool below = !to.is_signed || static_cast<std::int64_t>(extended) < static_cast<std::int64_t>(to.lowest());
    return below ? to.lowest() : extended;
  }
  return extended > to.highest() ? to.highest() : extended;
}

std::uint32_t pack_pair(Format to, Format from, std::uint64_t high, std::uint64_t low, const Mode& mode) {
  const auto top = static_cast<std::uint32_t>(convert(to, from, high, mode));
  return top << layout_of(to).width() | static_cast<std::uint32_t>(convert(to, from, low, mode));
}

std::uint32_t convert_pair(Format to, Format from, std::uint32_t pair, const Mode& mode) {
  const int width = layout_of(from).width();
  const std::uint32_t mask = (std::uint32_t{1} << width) - 1;
  return pack_pair(to, from, (pair >> width) & mask, pair & mask, mode);
}

double f64_of(Format format, std::uint64_t bits) {
  switch (format) {
    case Format::e4m3: return f32_of_e4m3(static_cast<std::uint32_t>(bits));
    case Format::e5m2: return f32_of_e5m2(static_cast<std::uint32_t>(bits));
    case Format::f16: return f32_of_f16(static_cast<std::uint32_t>(bits));
    case Format::bf16: return f32_of_bf16(static_cast<std::uint32_t>(bits));
    case Format::tf32: return std::bit_cast<float>(static_cast<std::uint32_t>(bits) & ~std::uint32_t{0x1fff});
    case Format::f32: return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    case Format::f64: return std::bit_cast<double>(bits);
  }
  return 0;
}

}  // namespace wm::vgpu::numeric
