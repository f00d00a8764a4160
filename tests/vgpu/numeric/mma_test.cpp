// mma.sync of every shape and type against sums in double precision, with the fragment formulas of the PTX manual; and
// the matrices of ldmatrix and its kin.
#include "vgpu/isa/numeric/mma.hpp"

#include <bit>
#include <cmath>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "vgpu/isa/numeric/convert.hpp"
#include "vgpu/isa/numeric/matrix.hpp"

namespace wm::vgpu::numeric {
namespace {

// Registers of a warp, as rows.
struct Registers {
  explicit Registers(int count) : words(static_cast<std::size_t>(count) * 32) {
    for (int r = 0; r < count; ++r) {
      rows.push_back(words.data() + r * 32);
      const_rows.push_back(rows.back());
    }
  }
  std::vector<std::uint32_t> words;
  std::vector<std::uint32_t*> rows;
  std::vector<const std::uint32_t*> const_rows;
};

Format format_of(Element element) {
  switch (element) {
    case Element::f16: return Format::f16;
    case Element::bf16: return Format::bf16;
    case Element::tf32: return Format::tf32;
    case Element::e4m3: return Format::e4m3;
    default: return Format::e5m2;
  }
}

std::uint32_t draw_bits(Element element, std::mt19937& random) {
  if (is_integer(element)) return random() & 0xff;
  std::normal_distribution<double> normal;
  return static_cast<std::uint32_t>(
      convert(format_of(element), Format::f64, std::bit_cast<std::uint64_t>(normal(random)), {.satfinite = true}));
}
double value_of(Element element, std::uint32_t bits) {
  if (element == Element::s8) return static_cast<std::int8_t>(bits);
  if (element == Element::u8) return static_cast<std::uint8_t>(bits);
  return f64_of(format_of(element), bits);
}

// Element i of a lane of A: row and column as the manual gives them, by the width of the elements.
void a_place(const MmaShape& shape, int lane, int i, int& row, int& column) {
  const int g = lane / 4, t = lane % 4;
  switch (bits_of(shape.a)) {
    case 32:
      row = i % 2 == 0 ? g : g + 8;
      column = i < 2 ? t : t + 4;
      break;
    case 16:
      row = i % 4 < 2 ? g : g + 8;
      column = t * 2 + (i & 1) + (i < 4 ? 0 : 8);
      break;
    default: row = shape.m == 8 ? g : (i / 4) % 2 == 0 ? g : g + 8; column = t * 4 + (i & 3) + (i < 8 ? 0 : 16);
  }
}
void b_place(const MmaShape& shape, int lane, int i, int& row, int& column) {
  const int g = lane / 4, t = lane % 4;
  column = g;
  switch (bits_of(shape.a)) {
    case 32: row = t + 4 * i; break;
    case 16: row = t * 2 + (i & 1) + (i < 2 ? 0 : 8); break;
    default: row = t * 4 + (i & 3) + (i < 4 ? 0 : 16);
  }
}

void check(const MmaShape& shape, unsigned seed) {
  ASSERT_EQ(shape.refusal(), "") << shape.m << " " << shape.k;
  std::mt19937 random(seed);
  const int width = bits_of(shape.a), each = 32 / width;
  Registers a(shape.a_registers()), b(shape.b_registers()), c(shape.c_registers()), d(shape.c_registers());
  double left[16][32] = {}, right[32][8] = {}, start[16][8] = {};
  for (int lane = 0; lane < 32; ++lane) {
    int row, column;
    for (int i = 0; i < shape.a_registers() * each; ++i) {
      const std::uint32_t bits = draw_bits(shape.a, random);
      a_place(shape, lane, i, row, column);
      left[row][column] = value_of(shape.a, bits);
      a.rows[static_cast<std::size_t>(i / each)][lane] |= bits << (i % each * width) % 32;
    }
    for (int i = 0; i < shape.b_registers() * each; ++i) {
      const std::uint32_t bits = draw_bits(shape.b, random);
      b_place(shape, lane, i, row, column);
      right[row][column] = value_of(shape.b, bits);
      b.rows[static_cast<std::size_t>(i / each)][lane] |= bits << (i % each * width) % 32;
    }
    for (int i = 0; i < (shape.m == 8 ? 2 : 4); ++i) {
      double& value = start[lane / 4 + i / 2 * 8][lane % 4 * 2 + i % 2];
      if (shape.c == Sum::s32) {
        const std::uint32_t bits = random() >> 4;
        c.rows[static_cast<std::size_t>(i)][lane] = bits;
        value = bits;
      } else if (shape.c == Sum::f16) {
        const std::uint32_t bits = draw_bits(Element::f16, random);
        c.rows[static_cast<std::size_t>(i / 2)][lane] |= bits << (i % 2 * 16);
        value = value_of(Element::f16, bits);
      } else {
        const float number = static_cast<float>(value_of(Element::tf32, draw_bits(Element::tf32, random)));
        c.rows[static_cast<std::size_t>(i)][lane] = std::bit_cast<std::uint32_t>(number);
        value = number;
      }
    }
  }
  mma(shape, d.rows, a.const_rows, b.const_rows, c.const_rows);
  for (int row = 0; row < shape.m; ++row)
    for (int column = 0; column < 8; ++column) {
      double sum = start[row][column], size = std::abs(sum);
      for (int k = 0; k < shape.k; ++k) {
        sum += left[row][k] * right[k][column];
        size += std::abs(left[row][k] * right[k][column]);
      }
      const int lane = row % 8 * 4 + column / 2, i = row / 8 * 2 + column % 2;
      double got;
      if (shape.d == Sum::f16)
        got = f64_of(Format::f16, d.rows[static_cast<std::size_t>(i / 2)][lane] >> (i % 2 * 16) & 0xffff);
      else if (shape.d == Sum::s32)
        got = static_cast<std::int32_t>(d.rows[static_cast<std::size_t>(i)][lane]);
      else
        got = std::bit_cast<float>(d.rows[static_cast<std::size_t>(i)][lane]);
      const double bound = shape.d == Sum::s32 ? 0 : shape.d == Sum::f32 ? size * shape.k * 0x1p-24 : size * 0x1p-10;
      ASSERT_NEAR(got, sum, bound) << "m" << shape.m << "k" << shape.k << " row " << row << " column " << column;
    }
}

TEST(Mma, EveryShapeAndType) {
  const struct {
    int m, k;
    Element a, b;
    Sum sum;
  } shapes[] = {{16, 8, Element::f16, Element::f16, Sum::f16},    {16, 8, Element::f16, Element::f16, Sum::f32},
                {16, 16, Element::f16, Element::f16, Sum::f16},   {16, 16, Element::f16, Element::f16, Sum::f32},
                {16, 8, Element::bf16, Element::bf16, Sum::f32},  {16, 16, Element::bf16, Element::bf16, Sum::f32},
                {16, 4, Element::tf32, Element::tf32, Sum::f32},  {16, 8, Element::tf32, Element::tf32, Sum::f32},
                {8, 16, Element::s8, Element::u8, Sum::s32},      {8, 16, Element::u8, Element::u8, Sum::s32},
                {16, 16, Element::s8, Element::s8, Sum::s32},     {16, 16, Element::u8, Element::s8, Sum::s32},
                {16, 32, Element::s8, Element::u8, Sum::s32},     {16, 32, Element::u8, Element::s8, Sum::s32},
                {16, 32, Element::e4m3, Element::e4m3, Sum::f32}, {16, 32, Element::e4m3, Element::e5m2, Sum::f16},
                {16, 32, Element::e5m2, Element::e5m2, Sum::f32}, {16, 16, Element::e5m2, Element::e4m3, Sum::f32}};
  unsigned seed = 1;
  for (const auto& shape : shapes) {
    check({shape.m, 8, shape.k, shape.a, shape.b, shape.sum, shape.sum, false}, seed++);
    if (HasFatalFailure()) return;
  }
}

TEST(Mma, MayWriteItsResultOverAnyOperand) {
  const MmaShape shape;
  std::mt19937 random(3);
  Registers a(4), b(2), c(4), d(4);
  for (auto* registers : {&a, &b, &c})
    for (auto& word : registers->words) word = draw_bits(Element::f16, random) << 16 | draw_bits(Element::f16, random);
  mma(shape, d.rows, a.const_rows, b.const_rows, c.const_rows);
  Registers copy = a;
  std::vector<std::uint32_t*> over;
  for (int r = 0; r < 4; ++r) over.push_back(copy.words.data() + r * 32);
  std::vector<const std::uint32_t*> from(over.begin(), over.end());
  mma(shape, over, from, b.const_rows, c.const_rows);
  EXPECT_EQ(copy.words, d.words);
}

TEST(Mma, IntegersWrapOrSaturate) {
  for (bool saturate : {false, true}) {
    Registers a(4), b(2), c(4), d(4);
    for (auto& word : a.words) word = 0x80808080;
    for (auto& word : b.words) word = 0x7f7f7f7f;
    for (auto& word : c.words) word = 0x80000000;
    mma({16, 8, 32, Element::s8, Element::s8, Sum::s32, Sum::s32, saturate}, d.rows, a.const_rows, b.const_rows,
        c.const_rows);
    EXPECT_EQ(d.words[5], saturate ? 0x80000000u : 0x80000000u - 128u * 127 * 32);
  }
}

TEST(Mma, F64OfEveryShape) {
  std::mt19937_64 random(9);
  std::normal_distribution<double> normal;
  for (auto [m, k] : {std::pair{8, 4}, {16, 4}, {16, 8}, {16, 16}}) {
    ASSERT_EQ(mma_f64_refusal(m, 8, k), "");
    const int a_count = m * k / 32, b_count = k * 8 / 32, c_count = m * 8 / 32;
    std::vector<std::array<std::uint64_t, 32>> a(a_count), b(b_count), c(c_count), d(c_count);
    double left[16][16], right[16][8], start[16][8];
    for (int lane = 0; lane < 32; ++lane) {
      const int g = lane / 4, t = lane % 4;
      const auto draw = [&](std::uint64_t& to, double& number) {
        to = std::bit_cast<std::uint64_t>(number = normal(random));
      };
      // m16n8k16's formulas, of which the smaller shapes are the first registers.
      for (int i = 0; i < a_count; ++i)
        draw(a[i][lane], m == 8 ? left[g][t] : left[i % 2 == 0 ? g : g + 8][i / 2 * 4 + t]);
      for (int i = 0; i < b_count; ++i) draw(b[i][lane], right[t + i * 4][g]);
      for (int i = 0; i < c_count; ++i) draw(c[i][lane], start[i < 2 ? g : g + 8][t * 2 + (i & 1)]);
    }
    std::vector<std::uint64_t*> d_rows;
    std::vector<const std::uint64_t*> a_rows, b_rows, c_rows;
    for (auto& row : a) a_rows.push_back(row.data());
    for (auto& row : b) b_rows.push_back(row.data());
    for (auto& row : c) c_rows.push_back(row.data());
    for (auto& row : d) d_rows.push_back(row.data());
    mma_f64(m, k, d_rows, a_rows, b_rows, c_rows);
    for (int row = 0; row < m; ++row)
      for (int column = 0; column < 8; ++column) {
        long double sum = start[row][column];
        for (int i = 0; i < k; ++i) sum += static_cast<long double>(left[row][i]) * right[i][column];
        const double got = std::bit_cast<double>(d[row / 8 * 2 + column % 2][row % 8 * 4 + column / 2]);
        ASSERT_NEAR(got, static_cast<double>(sum), 1e-13);
      }
  }
  EXPECT_NE(mma_f64_refusal(16, 8, 32), "");
}

TEST(Mma, IntegersOfFourBits) {
  std::mt19937 random(5);
  const auto value = [](std::uint32_t bits, bool is_signed) {
    return is_signed ? static_cast<int>(bits ^ 8) - 8 : static_cast<int>(bits);
  };
  for (auto [m, k] : {std::pair{8, 32}, {16, 32}, {16, 64}})
    for (bool a_signed : {false, true})
      for (bool b_signed : {false, true}) {
        const NibbleMmaShape shape{m, 8, k, a_signed, b_signed, false};
        ASSERT_EQ(shape.refusal(), "");
        Registers a(m * k / 256), b(8 * k / 256), c(m / 4), d(m / 4);
        int left[16][64], right[64][8];
        for (auto* registers : {&a, &b, &c})
          for (std::uint32_t& word : registers->words) word = static_cast<std::uint32_t>(random());
        // m16n8k64's formulas, of which the smaller shapes are the first elements.
        for (int lane = 0; lane < 32; ++lane) {
          const int g = lane / 4, t = lane % 4;
          const auto bits = [&](const Registers& from, int i) {
            return from.rows[static_cast<std::size_t>(i / 8)][lane] >> i % 8 * 4 & 15;
          };
          for (int i = 0; i < m * k / 32; ++i)
            left[m == 8 || i < 8 || (i >= 16 && i < 24) ? g : g + 8][t * 8 + (i & 7) + (i < 16 ? 0 : 32)] =
                value(bits(a, i), a_signed);
          for (int i = 0; i < k / 4; ++i) right[t * 8 + (i & 7) + (i < 8 ? 0 : 32)][g] = value(bits(b, i), b_signed);
        }
        mma_nibbles(shape, d.rows, a.const_rows, b.const_rows, c.const_rows);
        for (int row = 0; row < m; ++row)
          for (int column = 0; column < 8; ++column) {
            const auto r = static_cast<std::size_t>(row / 8 * 2 + column % 2);
            const int lane = row % 8 * 4 + column / 2;
            std::uint32_t sum = c.rows[r][lane];
            for (int i = 0; i < k; ++i) sum += static_cast<std::uint32_t>(left[row][i] * right[i][column]);
            ASSERT_EQ(d.rows[r][lane], sum) << m << " " << k << " row " << row << " column " << column;
          }
      }
  EXPECT_NE((NibbleMmaShape{.m = 8, .k = 64}.refusal()), "");
}

TEST(Mma, VoltasQuadsInEveryLayout) {
  std::mt19937 random(4);
  for (bool a_column : {false, true})
    for (bool b_column : {false, true})
      for (auto [c_sum, d_sum] : {std::pair{Sum::f16, Sum::f16}, {Sum::f16, Sum::f32}, {Sum::f32, Sum::f32}}) {
        Registers a(2), b(2), c(c_sum == Sum::f16 ? 4 : 8), d(d_sum == Sum::f16 ? 4 : 8);
        double left[4][8][4], right[4][4][8], sums[4][8][8];
        const auto put = [&](Registers& to, int i, int lane) {
          const std::uint32_t bits = draw_bits(Element::f16, random);
          to.rows[static_cast<std::size_t>(i / 2)][lane] |= bits << (i % 2 * 16);
          return value_of(Element::f16, bits);
        };
        for (int lane = 0; lane < 32; ++lane) {
          const int quad = lane / 4 % 4;
          for (int i = 0; i < 4; ++i) {
            const int row = a_column ? i % 4 + (lane < 16 ? 0 : 4) : lane % 4 + (lane < 16 ? 0 : 4);
            left[quad][row][a_column ? lane % 4 : i] = put(a, i, lane);
            const int column = b_column ? lane % 4 + (lane < 16 ? 0 : 4) : i + (lane < 16 ? 0 : 4);
            right[quad][b_column ? i : lane % 4][column] = put(b, i, lane);
          }
          for (int i = 0; i < 8; ++i) {
            const int x = (lane & 0b1) + (i & 0b10);
            const int row = c_sum == Sum::f16 ? lane % 4 + (lane < 16 ? 0 : 4) : lane < 16 ? x : x + 4;
            const int column = c_sum == Sum::f16 ? i : (i & 0b100) + (lane & 0b10) + (i & 0b1);
            if (c_sum == Sum::f16) {
              sums[quad][row][column] = put(c, i, lane);
            } else {
              const float value = static_cast<float>(random() % 1000);
              c.rows[static_cast<std::size_t>(i)][lane] = std::bit_cast<std::uint32_t>(value);
              sums[quad][row][column] = value;
            }
          }
        }
        mma_m8n8k4_f16({a_column, b_column, c_sum, d_sum}, d.rows, a.const_rows, b.const_rows, c.const_rows);
        for (int lane = 0; lane < 32; ++lane)
          for (int i = 0; i < 8; ++i) {
            const int x = (lane & 0b1) + (i & 0b10);
            const int row = d_sum == Sum::f16 ? lane % 4 + (lane < 16 ? 0 : 4) : lane < 16 ? x : x + 4;
            const int column = d_sum == Sum::f16 ? i : (i & 0b100) + (lane & 0b10) + (i & 0b1);
            const int quad = lane / 4 % 4;
            double sum = sums[quad][row][column];
            for (int k = 0; k < 4; ++k) sum += left[quad][row][k] * right[quad][k][column];
            const double got =
                d_sum == Sum::f16
                    ? f64_of(Format::f16, d.rows[static_cast<std::size_t>(i / 2)][lane] >> (i % 2 * 16) & 0xffff)
                    : std::bit_cast<float>(d.rows[static_cast<std::size_t>(i)][lane]);
            ASSERT_NEAR(got, sum, d_sum == Sum::f16 ? 0x1p-7 : 1e-3);
          }
      }
  EXPECT_NE((QuadMmaShape{false, true, Sum::f32, Sum::f16}.refusal()), "");
}

TEST(Mma, WhatTheChipDoesNotHaveIsRefused) {
  EXPECT_NE((MmaShape{16, 8, 32, Element::f16, Element::f16, Sum::f32, Sum::f32, false}.refusal()), "");
  EXPECT_NE((MmaShape{8, 8, 32, Element::s8, Element::s8, Sum::s32, Sum::s32, false}.refusal()), "");
  EXPECT_NE((MmaShape{16, 8, 16, Element::f16, Element::bf16, Sum::f32, Sum::f32, false}.refusal()), "");
  EXPECT_NE((MmaShape{16, 8, 16, Element::bf16, Element::bf16, Sum::f16, Sum::f16, false}.refusal()), "");
  EXPECT_NE((MmaShape{16, 8, 16, Element::f16, Element::f16, Sum::f16, Sum::f32, false}.refusal()), "");
  EXPECT_NE((MmaShape{16, 8, 16, Element::f16, Element::f16, Sum::f32, Sum::f32, true}.refusal()), "");
  EXPECT_NE((MmaShape{16, 8, 32, Element::s8, Element::e4m3, Sum::s32, Sum::s32, false}.refusal()), "");
}

TEST(Matrix, LanesHoldRowsOrColumns) {
  Matrix8x8 matrix;
  for (int row = 0; row < 8; ++row)
    for (int column = 0; column < 8; ++column) matrix.rows[row][column] = static_cast<std::uint16_t>(row * 16 + column);
  std::uint32_t lanes[32], turned[32], again[32];
  matrix_to_register(matrix, false, lanes);
  EXPECT_EQ(lanes[0], 0x00010000u);
  EXPECT_EQ(lanes[13], 0x00330032u);  // row 3, columns 2 and 3
  matrix_to_register(matrix, true, turned);
  EXPECT_EQ(turned[13], 0x00330023u);  // rows 2 and 3 of column 3
  transpose_register(lanes, again);
  for (int lane = 0; lane < 32; ++lane) EXPECT_EQ(again[lane], turned[lane]);
  for (bool transposed : {false, true}) {
    matrix_to_register(matrix, transposed, lanes);
    const Matrix8x8 back = register_to_matrix(lanes, transposed);
    EXPECT_EQ(std::memcmp(back.rows, matrix.rows, sizeof back.rows), 0);
  }
}

}  // namespace
}  // namespace wm::vgpu::numeric
