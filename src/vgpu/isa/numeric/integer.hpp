// Integer instructions of PTX that are more than one C++ operator.
#pragma once

#include <bit>
#include <cstdint>

namespace wm::vgpu::numeric {

__extension__ using Wide = unsigned __int128;
__extension__ using SignedWide = __int128;

// mul.hi, mad.hi: the upper half of the full product.
constexpr std::uint32_t multiply_high_u32(std::uint32_t a, std::uint32_t b) {
  return static_cast<std::uint32_t>(std::uint64_t{a} * b >> 32);
}
constexpr std::uint32_t multiply_high_s32(std::uint32_t a, std::uint32_t b) {
  const auto product = std::int64_t{static_cast<std::int32_t>(a)} * static_cast<std::int32_t>(b);
  return static_cast<std::uint32_t>(static_cast<std::uint64_t>(product) >> 32);
}
constexpr std::uint64_t multiply_high_u64(std::uint64_t a, std::uint64_t b) {
  return static_cast<std::uint64_t>(Wide{a} * b >> 64);
}
constexpr std::uint64_t multiply_high_s64(std::uint64_t a, std::uint64_t b) {
  const SignedWide product = SignedWide{static_cast<std::int64_t>(a)} * static_cast<std::int64_t>(b);
  return static_cast<std::uint64_t>(static_cast<Wide>(product) >> 64);
}

// mul24: the 48-bit product of the operands' low 24 bits, its low or high 32 bits.
constexpr std::uint64_t product24(std::uint32_t a, std::uint32_t b, bool is_signed) {
  if (!is_signed) return std::uint64_t{a & 0xffffff} * (b & 0xffffff);
  const auto extend = [](std::uint32_t value) { return std::int64_t{static_cast<std::int32_t>(value << 8) >> 8}; };
  return static_cast<std::uint64_t>(extend(a) * extend(b));
}
constexpr std::uint32_t multiply24_low(std::uint32_t a, std::uint32_t b, bool is_signed) {
  return static_cast<std::uint32_t>(product24(a, b, is_signed));
}
constexpr std::uint32_t multiply24_high(std::uint32_t a, std::uint32_t b, bool is_signed) {
  return static_cast<std::uint32_t>(product24(a, b, is_signed) >> 16);
}

// add.sat.s32, sub.sat.s32, mad.hi.sat.s32.
constexpr std::uint32_t saturate_s32(std::int64_t value) {
  constexpr std::int64_t lowest = -2147483648LL, highest = 2147483647LL;
  return static_cast<std::uint32_t>(value < lowest ? lowest : value > highest ? highest : value);
}

// sad: c + |a - b|, modulo the width.
constexpr std::uint64_t sum_of_absolute_difference(std::int64_t a, std::int64_t b, std::uint64_t c) {
  const auto difference = static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b);
  return c + (a < b ? std::uint64_t{0} - difference : difference);
}
constexpr std::uint64_t sum_of_absolute_difference(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  return c + (a < b ? b - a : a - b);
}

constexpr std::int64_t signed_or_unsigned(std::uint32_t value, int bits, bool is_signed) {
  const std::uint32_t low = value & ((1u << bits) - 1);
  return is_signed && (low >> (bits - 1)) ? std::int64_t{low} - (std::int64_t{1} << bits) : std::int64_t{low};
}

// dp4a: four products of bytes, added to c.
constexpr std::uint32_t dot4(std::uint32_t a, std::uint32_t b, std::uint32_t c, bool a_signed, bool b_signed) {
  std::int64_t sum = c;
  for (int i = 0; i < 4; ++i)
    sum += signed_or_unsigned(a >> 8 * i, 8, a_signed) * signed_or_unsigned(b >> 8 * i, 8, b_signed);
  return static_cast<std::uint32_t>(sum);
}
// dp2a: two products of a's 16-bit halves with b's lower (or higher) two bytes.
constexpr std::uint32_t dot2(std::uint32_t a, std::uint32_t b, std::uint32_t c, bool a_signed, bool b_signed,
                             bool high) {
  std::int64_t sum = c;
  for (int i = 0; i < 2; ++i)
    sum +=
        signed_or_unsigned(a >> 16 * i, 16, a_signed) * signed_or_unsigned(b >> (8 * i + (high ? 16 : 0)), 8, b_signed);
  return static_cast<std::uint32_t>(sum);
}

// lop3: bit i of the table is the result where (a, b, c) spell i.
constexpr std::uint32_t lop3(std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint8_t table) {
  std::uint32_t result = 0;
  for (int i = 0; i < 8; ++i)
    if (table >> i & 1) result |= (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
  return result;
}

enum class Permute : std::uint8_t { index, f4e, b4e, rc8, ecl, ecr, rc16 };

// prmt: each result byte is one of the eight bytes of {b, a}; in index mode bit 3 of a selector copies that byte's sign
// into all of its bits.
constexpr std::uint32_t permute(std::uint32_t a, std::uint32_t b, std::uint32_t selector, Permute mode) {
  const std::uint64_t bytes = std::uint64_t{b} << 32 | a;
  const std::uint32_t s = selector & 3;
  std::uint32_t result = 0;
  for (std::uint32_t i = 0; i < 4; ++i) {
    std::uint32_t source = 0;
    switch (mode) {
      case Permute::index: source = selector >> 4 * i & 0xf; break;
      case Permute::f4e: source = s + i; break;
      case Permute::b4e: source = (s + 8 - i) & 7; break;
      case Permute::rc8: source = s; break;
      case Permute::ecl: source = i > s ? i : s; break;
      case Permute::ecr: source = i < s ? i : s; break;
      case Permute::rc16: source = (s & 1) * 2 + (i & 1); break;
    }
    std::uint32_t byte = static_cast<std::uint32_t>(bytes >> 8 * (source & 7)) & 0xff;
    if (source & 8) byte = byte & 0x80 ? 0xff : 0;
    result |= byte << 8 * i;
  }
  return result;
}

// A count of bfe and bfi: modulo 256 in 32-bit instructions, as it is in 64-bit ones.
constexpr std::uint32_t field_count(std::uint32_t count, int width) {
  if (width == 32) return count & 0xff;
  return count < 0xff ? count : 0xff;
}

// bfe: `length` bits from `position`; past the top the sign bit of the field repeats.
constexpr std::uint64_t extract_bits(std::uint64_t a, std::uint32_t position, std::uint32_t length, int width,
                                     bool is_signed) {
  position = field_count(position, width);
  length = field_count(length, width);
  const auto top = static_cast<std::uint32_t>(width - 1);
  const std::uint32_t last = position + length - 1 < top ? position + length - 1 : top;
  const bool fill = is_signed && length != 0 && (a >> last & 1);
  std::uint64_t result = 0;
  for (std::uint32_t i = 0; i <= top; ++i) {
    const bool inside = i < length && position + i <= top;
    if (inside ? (a >> (position + i) & 1) != 0 : fill) result |= std::uint64_t{1} << i;
  }
  return result;
}

// bfi: the low `length` bits of a over b's from `position`.
constexpr std::uint64_t insert_bits(std::uint64_t a, std::uint64_t b, std::uint32_t position, std::uint32_t length,
                                    int width) {
  position = field_count(position, width);
  length = field_count(length, width);
  if (position >= static_cast<std::uint32_t>(width) || length == 0) return b;
  const std::uint64_t field = (length >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << length) - 1) << position;
  const std::uint64_t all = width == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << width) - 1;
  return ((b & ~field) | (a << position & field)) & all;
}

// bfind: the place of the highest bit that is not the sign, or all ones where there is none; with .shiftamt the
// distance from it to the top.
constexpr std::uint32_t find_highest(std::uint64_t a, int width, bool is_signed, bool shift_amount) {
  const std::uint64_t all = width == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << width) - 1;
  if (is_signed && (a >> (width - 1) & 1)) a = ~a;
  a &= all;
  if (a == 0) return ~std::uint32_t{0};
  const int place = std::bit_width(a) - 1;
  return static_cast<std::uint32_t>(shift_amount ? width - 1 - place : place);
}

constexpr std::uint64_t reverse_bits(std::uint64_t a, int width) {
  std::uint64_t result = 0;
  for (int i = 0; i < width; ++i)
    if (a >> i & 1) result |= std::uint64_t{1} << (width - 1 - i);
  return result;
}

// shl, shr: counts past the width empty the register (or fill it with the sign).
constexpr std::uint64_t shift_left(std::uint64_t a, std::uint32_t count, int width) {
  return count >= static_cast<std::uint32_t>(width) ? 0 : a << count;
}
constexpr std::uint64_t shift_right(std::uint64_t zero_extended, std::uint32_t count, int width) {
  return count >= static_cast<std::uint32_t>(width) ? 0 : zero_extended >> count;
}
constexpr std::uint64_t shift_right_signed(std::int64_t sign_extended, std::uint32_t count, int width) {
  const auto most = static_cast<std::uint32_t>(width - 1);
  return static_cast<std::uint64_t>(sign_extended >> (count > most ? most : count));
}

// shf: 32 bits of {high, low} shifted; the count is taken modulo 32 (.wrap) or stops at 32 (.clamp).
constexpr std::uint32_t funnel_count(std::uint32_t count, bool wrap) {
  return wrap ? count & 31 : count > 32 ? 32 : count;
}
constexpr std::uint32_t funnel_left(std::uint32_t low, std::uint32_t high, std::uint32_t count, bool wrap) {
  const std::uint64_t both = std::uint64_t{high} << 32 | low;
  const std::uint32_t n = funnel_count(count, wrap);
  return static_cast<std::uint32_t>(n == 32 ? low : both << n >> 32);
}
constexpr std::uint32_t funnel_right(std::uint32_t low, std::uint32_t high, std::uint32_t count, bool wrap) {
  const std::uint64_t both = std::uint64_t{high} << 32 | low;
  return static_cast<std::uint32_t>(both >> funnel_count(count, wrap));
}

}  // namespace wm::vgpu::numeric
