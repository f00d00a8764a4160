// Operands of matrix products made ready for the multiply kernel: widened to f32 and put into panels.
//
// Tensor cores take their operands in slices of 32 bytes along k: 8 numbers of tf32, 16 of 16 bits, 32 of 8 bits (the
// short forms of mma.sync 16 bytes). So every operand, from shared memory or registers, passes through here as groups
// of eight rows (of A) or columns (of B) of raw bytes.
#pragma once

#include <cstdint>

namespace wm::vgpu::numeric {

// e2m3, e3m2 and e2m1 take a byte each here, in its low bits; of e2m1_pairs two share one, the first in the low half.
enum class Element : std::uint8_t { f16, bf16, tf32, e4m3, e5m2, s8, u8, e2m3, e3m2, e2m1, e2m1_pairs };

constexpr int bits_of(Element element) {
  switch (element) {
    case Element::tf32: return 32;
    case Element::f16:
    case Element::bf16: return 16;
    case Element::e2m1_pairs: return 4;
    default: return 8;
  }
}
// In shared memory sixteen of these lie together at the start of 16 bytes, and the rest of those is a gap.
constexpr bool has_gaps(Element element) {
  return element == Element::e2m3 || element == Element::e3m2 || element == Element::e2m1;
}
constexpr bool is_integer(Element element) { return element == Element::s8 || element == Element::u8; }

inline constexpr int slice_bytes = 32;                                                        // along k
constexpr int slice_elements(Element element) { return slice_bytes * 8 / bits_of(element); }  // 8, 16, 32 or 64

// Eight rows (or columns) of one slice, as they lie in memory.
struct RawGroup {
  alignas(32) std::uint8_t bytes[8][slice_bytes];
};

// Of elements with gaps: each into its own byte.
void spread_packed(Element element, RawGroup& group);

// Where registers and tensor memory give such elements a byte each, e2m1 lies in the middle of it, 0b00xxxx00, and the
// others in the low bits; the rest are zeros.
constexpr int middle_shift = 2;
void to_low_bits(Element element, RawGroup& group);

// Widens a group. Panels are [k][8]; of B the even columns come first, as an accumulator's registers want them.
// `k` is the number of elements used (slice_elements, or half of it).
void widen_columns(Element element, const RawGroup& group, int k, float* panel);

// Of A each number is written four times, for the four lanes that hold columns of its row: [k][32], `stride` floats
// from one k to the next. Numbers are negated where `negate`.
void widen_rows(Element element, const RawGroup& group, int k, bool negate, float* panel, int stride);

// The same where memory is MN-major (16-bit elements): `bytes` holds, for each k, eight neighbours along rows or
// columns.
struct RawTransposed {
  alignas(32) std::uint8_t bytes[16][16];
};
void widen_columns(Element element, const RawTransposed& group, float* panel);
void widen_rows(Element element, const RawTransposed& group, bool negate, float* panel, int stride);

// Sixteen rows by 8 * `groups` columns: accumulators += A * B, in order of k, one fused multiply-add each.
// `a` is [k][64], `b` is [group][k][8]. rows[4 * group + r] is register r of the fragment of a group of eight columns,
// 32 lanes: row lane / 4 + 8 * (r / 2), column 2 * (lane % 4) + r % 2. NaN results are canonical.
void multiply_panels(const float* a, const float* b, int k, int groups, std::uint32_t* const* rows, bool accumulate);

}  // namespace wm::vgpu::numeric
