// mma.sync: registers to panels, the multiply kernel, and the two families with layouts of their own.
#include "vgpu/isa/numeric/mma.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "vgpu/isa/numeric/format.hpp"
#include "vgpu/isa/numeric/halves.hpp"
#include "vgpu/isa/numeric/integer.hpp"

namespace wm::vgpu::numeric {

namespace {
constexpr int lanes = 32;
constexpr std::size_t row_bytes = lanes * sizeof(std::uint32_t);
}  // namespace

std::string MmaShape::refusal() const {
  const int slice = slice_elements(a);
  const bool integers = is_integer(a), bytes = bits_of(a) == 8;
  const bool alike = integers ? is_integer(b) : bytes ? bits_of(b) == 8 && !is_integer(b) : a == b;
  if (!alike) return "A and B have types that do not go together";
  const bool small = integers && m == 8 && n == 8 && k == 16;
  if (!small && (m != 16 || n != 8 || (k != slice && k != slice / 2)))
    return fmt::format("there is no m{}n{}k{} of these types", m, n, k);
  if (c != d) return "C and D have the same type in this shape";
  if (integers != (d == Sum::s32)) return "integers are summed in s32, and nothing else is";
  if (d == Sum::f16 && (a == Element::bf16 || a == Element::tf32)) return "bf16 and tf32 are summed in f32 alone";
  if (saturate && !integers) return ".satfinite is for integers alone";
  return {};
}

void mma(const MmaShape& shape, Rows d, ConstRows a, ConstRows b, ConstRows c) {
  constexpr int spread_row = 64;  // floats of A for one k: 16 rows, each four times
  alignas(64) float panel_a[32 * spread_row];
  alignas(64) float panel_b[32 * 8];
  alignas(64) float scratch[4 * lanes];
  std::array<const std::uint32_t*, 4> rows{};
  for (std::size_t r = 0; r < a.size(); ++r) rows[r] = a[r];
  std::array<const std::uint32_t*, 2> columns{};
  for (std::size_t r = 0; r < b.size(); ++r) columns[r] = b[r];
  for (int half = 0; half < 2; ++half)
    widen_rows(shape.a, rows_from_registers(rows, half), shape.k, false, panel_a + half * 32, spread_row);
  widen_columns(shape.b, columns_from_registers(columns), shape.k, panel_b);

  // Where there are only eight rows (m8n8k16), the other eight are zeros and their sums go nowhere.
  std::uint32_t nowhere[2][lanes] = {};
  std::array<std::uint32_t*, 4> sums{nullptr, nullptr, nowhere[0], nowhere[1]};
  for (std::size_t r = 0; r < d.size(); ++r) {
    sums[r] = d[r];
    if (d[r] != c[r]) std::memmove(d[r], c[r], row_bytes);
  }
  const Accumulation how{shape.d, shape.saturate, true};
  if (shape.as_chip && shape.d != Sum::s32)
    multiply_as_chip(*shape.as_chip, shape.a, shape.b, how, panel_a, panel_b, shape.k, 1, sums.data());
  else
    multiply_fragments(how, panel_a, panel_b, shape.k, 1, sums.data(), scratch);
}

std::string QuadMmaShape::refusal() const {
  if (c == Sum::s32 || d == Sum::s32) return "f16 is summed in f16 or f32";
  if (c == Sum::f32 && d == Sum::f16) return "with C in f32, D is f32";
  return {};
}

namespace {

// Element `i` of a lane's pairs of f16.
float half_of(ConstRows rows, int lane, int i) {
  const std::uint32_t pair = rows[static_cast<std::size_t>(i / 2)][lane];
  return f32_of_f16(i % 2 ? pair >> 16 : pair & 0xffff);
}

struct Place {
  int row, column;
};
// Where element i of a lane's eight accumulators lies in its 8 x 8 product.
Place quad_place(Sum sum, int lane, int i) {
  const int lower = lane / 16 * 4;
  if (sum == Sum::f16) return {lane % 4 + lower, i};
  return {(lane & 1) + (i & 2) + lower, (i & 4) + (lane & 2) + (i & 1)};
}

}  // namespace

void mma_m8n8k4_f16(const QuadMmaShape& shape, Rows d, ConstRows a, ConstRows b, ConstRows c) {
  float left[4][8][4], right[4][4][8], sum[4][8][8];
  for (int lane = 0; lane < lanes; ++lane) {
    const int product = lane % 16 / 4, lower = lane / 16 * 4, inside = lane % 4;
    for (int i = 0; i < 4; ++i) {
      if (shape.a_column_major)
        left[product][i + lower][inside] = half_of(a, lane, i);
      else
        left[product][inside + lower][i] = half_of(a, lane, i);
      if (shape.b_column_major)
        right[product][i][inside + lower] = half_of(b, lane, i);
      else
        right[product][inside][i + lower] = half_of(b, lane, i);
    }
    for (int i = 0; i < 8; ++i) {
      const Place at = quad_place(shape.c, lane, i);
      sum[product][at.row][at.column] =
          shape.c == Sum::f16 ? half_of(c, lane, i) : f32_from(c[static_cast<std::size_t>(i)][lane]);
    }
  }
  for (int product = 0; product < 4; ++product)
    for (int row = 0; row < 8; ++row)
      for (int column = 0; column < 8; ++column)
        for (int k = 0; k < 4; ++k)
          sum[product][row][column] =
              std::fma(left[product][row][k], right[product][k][column], sum[product][row][column]);
  for (int lane = 0; lane < lanes; ++lane) {
    const auto at = [&](int i) {
      const Place place = quad_place(shape.d, lane, i);
      return sum[lane % 16 / 4][place.row][place.column];
    };
    if (shape.d == Sum::f16)
      for (int i = 0; i < 4; ++i)
        d[static_cast<std::size_t>(i)][lane] = std::uint32_t{f16_of_f32(at(2 * i + 1))} << 16 | f16_of_f32(at(2 * i));
    else
      for (int i = 0; i < 8; ++i)
        d[static_cast<std::size_t>(i)][lane] = std::isnan(at(i)) ? 0x7fffffff : f32_bits(at(i));
  }
}

std::string NibbleMmaShape::refusal() const {
  const bool known = n == 8 && ((m == 8 && k == 32) || (m == 16 && (k == 32 || k == 64)));
  return known ? std::string() : fmt::format("there is no m{}n{}k{} of integers of four bits", m, n, k);
}

void mma_nibbles(const NibbleMmaShape& shape, Rows d, ConstRows a, ConstRows b, ConstRows c) {
  // Register r of A: row g + 8 * (r % 2), or of m8 row g alone; of B: column g. Eight elements, from 8t on, of chunk
  // r / 2 (of A; of B r) of 32 along k.
  const auto nibble = [](std::uint32_t word, int i, bool is_signed) {
    const int value = word >> 4 * i & 15;
    return is_signed && value > 7 ? value - 16 : value;
  };
  const int halves = shape.m / 8;
  int left[16][64], right[64][8];
  for (int lane = 0; lane < lanes; ++lane) {
    const int g = lane / 4, t = lane % 4;
    for (int i = 0; i < 8; ++i) {
      for (int r = 0; r < shape.a_registers(); ++r)
        left[g + r % halves * 8][r / halves * 32 + t * 8 + i] =
            nibble(a[static_cast<std::size_t>(r)][lane], i, shape.a_signed);
      for (int r = 0; r < shape.b_registers(); ++r)
        right[r * 32 + t * 8 + i][g] = nibble(b[static_cast<std::size_t>(r)][lane], i, shape.b_signed);
    }
  }
  std::uint32_t sums[4][lanes];  // c may be d in another order
  for (int r = 0; r < shape.c_registers(); ++r)
    for (int lane = 0; lane < lanes; ++lane) {
      std::int64_t sum = static_cast<std::int32_t>(c[static_cast<std::size_t>(r)][lane]);
      for (int i = 0; i < shape.k; ++i) sum += left[lane / 4 + r / 2 * 8][i] * right[i][lane % 4 * 2 + r % 2];
      sums[r][lane] = shape.saturate ? saturate_s32(sum) : static_cast<std::uint32_t>(sum);
    }
  for (std::size_t r = 0; r < d.size(); ++r) std::memcpy(d[r], sums[r], row_bytes);
}

std::string mma_f64_refusal(int m, int n, int k) {
  const bool known = n == 8 && ((m == 8 && k == 4) || (m == 16 && (k == 4 || k == 8 || k == 16)));
  return known ? std::string() : fmt::format("there is no m{}n{}k{} of f64", m, n, k);
}

void mma_f64(int m, int k, std::span<std::uint64_t* const> d, std::span<const std::uint64_t* const> a,
             std::span<const std::uint64_t* const> b, std::span<const std::uint64_t* const> c) {
  // Register r of A: row g + 8 * (r % 2), column t + 4 * (r / 2), or of m8 row g alone. Of B: row t + 4r, column g.
  const int halves = m / 8;
  double left[16][16], right[16][8];
  for (int lane = 0; lane < lanes; ++lane) {
    const int g = lane / 4, t = lane % 4;
    for (int r = 0; r < halves * k / 4; ++r)
      left[g + r % halves * 8][t + r / halves * 4] = std::bit_cast<double>(a[static_cast<std::size_t>(r)][lane]);
    for (int r = 0; r < k / 4; ++r) right[t + 4 * r][g] = std::bit_cast<double>(b[static_cast<std::size_t>(r)][lane]);
  }
  for (int r = 0; r < 2 * halves; ++r) {
    std::uint64_t row[lanes];
    for (int lane = 0; lane < lanes; ++lane) {
      double sum = std::bit_cast<double>(c[static_cast<std::size_t>(r)][lane]);
      for (int i = 0; i < k; ++i) sum = std::fma(left[lane / 4 + r / 2 * 8][i], right[i][lane % 4 * 2 + r % 2], sum);
      row[lane] = std::isnan(sum) ? layout_of(Format::f64).canonical_nan : std::bit_cast<std::uint64_t>(sum);
    }
    std::memcpy(d[static_cast<std::size_t>(r)], row, sizeof row);
  }
}

}  // namespace wm::vgpu::numeric
