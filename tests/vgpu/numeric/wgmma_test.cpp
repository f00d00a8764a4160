// wgmma of every shape, type, swizzle and major-ness against sums in double precision. Operands are laid out here by a
// tile's rows and columns, not by address bits; accumulators are read by the fragment formula of the PTX manual.
#include "vgpu/isa/numeric/wgmma.hpp"

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "vgpu/isa/numeric/convert.hpp"
#include "vgpu/isa/numeric/dispatch.hpp"

namespace wm::vgpu::numeric {
namespace {

constexpr std::uint32_t a_at = 0x1000, b_at = 0x8000;
constexpr std::size_t window = 0x38000;

Format format_of(Element element) {
  switch (element) {
    case Element::f16: return Format::f16;
    case Element::bf16: return Format::bf16;
    case Element::tf32: return Format::tf32;
    case Element::e4m3: return Format::e4m3;
    default: return Format::e5m2;
  }
}

// A matrix of `rows` by `k` elements, as numbers and as bits.
struct Matrix {
  int rows, k;
  std::vector<double> values;
  std::vector<std::uint32_t> bits;

  Matrix(Element element, int rows, int k, std::mt19937& random) : rows(rows), k(k) {
    std::normal_distribution<double> normal;
    for (int i = 0; i < rows * k; ++i) {
      if (is_integer(element)) {
        const std::uint32_t byte = random() & 0xff;
        bits.push_back(byte);
        values.push_back(element == Element::s8 ? static_cast<std::int8_t>(byte) : static_cast<int>(byte));
      } else {
        const double value = normal(random);
        const std::uint64_t narrow =
            convert(format_of(element), Format::f64, std::bit_cast<std::uint64_t>(value), {.satfinite = true});
        bits.push_back(static_cast<std::uint32_t>(narrow));
        values.push_back(f64_of(format_of(element), narrow));
      }
    }
  }
  double at(int row, int column) const { return values[static_cast<std::size_t>(row * k + column)]; }
};

struct Layout {
  Swizzle swizzle;
  std::uint32_t leading, stride;
};

// Row and byte within the row of a swizzle pattern -> byte in the tile, as the copy engine lays it out.
std::uint32_t pattern_place(Swizzle swizzle, std::uint32_t row, std::uint32_t byte) {
  const std::uint32_t chunk = byte / 16, rest = byte % 16;
  switch (swizzle) {
    case Swizzle::bytes128: return row * 128 + (chunk ^ row % 8) * 16 + rest;
    case Swizzle::bytes64: return row * 64 + (chunk ^ row / 2 % 4) * 16 + rest;
    case Swizzle::bytes32: return row * 32 + (chunk ^ row / 4 % 2) * 16 + rest;
    case Swizzle::none: break;
  }
  return row * 16 + rest;
}

void put(std::vector<std::byte>& shared, std::uint32_t at, std::uint32_t bits, int bytes) {
  std::memcpy(&shared[at], &bits, static_cast<std::size_t>(bytes));
}

void lay_out_k_major(std::vector<std::byte>& shared, std::uint32_t base, const Matrix& matrix, int bytes,
                     const Layout& layout) {
  for (int row = 0; row < matrix.rows; ++row)
    for (int k = 0; k < matrix.k; ++k) {
      const auto r = static_cast<std::uint32_t>(row), byte = static_cast<std::uint32_t>(k * bytes);
      const std::uint32_t place = layout.swizzle == Swizzle::none
                                      ? r / 8 * layout.stride + byte / 16 * layout.leading + r % 8 * 16 + byte % 16
                                      : r / 8 * layout.stride + pattern_place(layout.swizzle, r % 8, byte);
      put(shared, base + place, matrix.bits[static_cast<std::size_t>(row * matrix.k + k)], bytes);
    }
}

void lay_out_mn_major(std::vector<std::byte>& shared, std::uint32_t base, const Matrix& matrix, const Layout& layout) {
  const std::uint32_t width = layout.swizzle == Swizzle::bytes128 ? 64 : layout.swizzle == Swizzle::bytes64 ? 32 : 16;
  for (int row = 0; row < matrix.rows; ++row)
    for (int column = 0; column < matrix.k; ++column) {
      const auto r = static_cast<std::uint32_t>(row), k = static_cast<std::uint32_t>(column);
      const std::uint32_t place = layout.swizzle == Swizzle::none
                                      ? r / 8 * layout.stride + k / 8 * layout.leading + k % 8 * 16 + r % 8 * 2
                                      : r / width * layout.leading + k / 8 * layout.stride +
                                            pattern_place(layout.swizzle, k % 8, r % width * 2);
      put(shared, base + place, matrix.bits[static_cast<std::size_t>(row * matrix.k + column)], 2);
    }
}

// Accumulators of a warpgroup.
struct Registers {
  std::vector<std::uint32_t> words = std::vector<std::uint32_t>(4 * 128 * 32);
  std::vector<std::uint32_t> rows;
  Registers() {
    for (std::uint32_t r = 0; r < 128; ++r) rows.push_back(127 - r);  // any order will do
  }
  WgmmaRegisters target() {
    WgmmaRegisters registers;
    for (std::size_t warp = 0; warp < 4; ++warp) registers.files[warp] = words.data() + warp * 128 * 32;
    registers.rows = rows;
    return registers;
  }
  std::uint32_t& word(int warp, int r, int lane) {
    return words[static_cast<std::size_t>((warp * 128 + static_cast<int>(rows[static_cast<std::size_t>(r)])) * 32 +
                                          lane)];
  }
  // Element (row, column) by the manual: lane holds columns 2t, 2t+1 of rows g and g+8 of its warp's 16 rows.
  double at(Sum sum, int row, int column) {
    const int warp = row / 16, lane = row % 8 * 4 + column % 8 / 2, lower = row % 16 / 8;
    if (sum == Sum::f16) {
      const std::uint32_t pair = word(warp, column / 8 * 2 + lower, lane);
      return f64_of(Format::f16, column % 2 ? pair >> 16 : pair & 0xffff);
    }
    const std::uint32_t bits = word(warp, column / 8 * 4 + lower * 2 + column % 2, lane);
    return sum == Sum::s32 ? static_cast<std::int32_t>(bits) : f64_of(Format::f32, bits);
  }
};

struct Product {
  WgmmaShape shape;
  Layout a, b;
  bool a_mn = false, b_mn = false, a_in_registers = false, negate_a = false, negate_b = false;
  int steps = 1;
};

void check(const Product& setup, unsigned seed) {
  const WgmmaShape& shape = setup.shape;
  ASSERT_EQ(shape.refusal(), "");
  std::mt19937 random(seed);
  const int bytes = bits_of(shape.a) / 8, k = shape.k(), n = shape.n;
  const Matrix a(shape.a, 64, k * setup.steps, random), b(shape.b, n, k * setup.steps, random);
  std::vector<std::byte> shared(window, std::byte{0xff});  // NaN wherever nothing belongs
  if (!setup.a_in_registers)
    setup.a_mn ? lay_out_mn_major(shared, a_at, a, setup.a) : lay_out_k_major(shared, a_at, a, bytes, setup.a);
  setup.b_mn ? lay_out_mn_major(shared, b_at, b, setup.b) : lay_out_k_major(shared, b_at, b, bytes, setup.b);

  Registers registers;
  std::vector<std::array<std::uint32_t, 4 * 4 * 32>> a_words(static_cast<std::size_t>(setup.steps));
  std::vector<WgmmaStep> steps;
  for (int s = 0; s < setup.steps; ++s) {
    const auto advance = [&](const Layout& layout, bool mn) {
      const auto step = static_cast<std::uint32_t>(s);
      if (mn) return step * 2 * (layout.swizzle == Swizzle::none ? layout.leading : layout.stride);
      return step * (layout.swizzle == Swizzle::none ? 2 * layout.leading : 32);
    };
    WgmmaStep step;
    step.a = {a_at + advance(setup.a, setup.a_mn), setup.a.leading, setup.a.stride, 0, setup.a.swizzle};
    step.b = {b_at + advance(setup.b, setup.b_mn), setup.b.leading, setup.b.stride, 0, setup.b.swizzle};
    step.a_mn_major = setup.a_mn;
    step.b_mn_major = setup.b_mn;
    step.negate_a = setup.negate_a;
    step.negate_b = setup.negate_b;
    step.accumulate = s > 0;
    if (setup.a_in_registers)
      for (int warp = 0; warp < 4; ++warp)
        for (int r = 0; r < 4; ++r) {
          std::uint32_t* row = a_words[static_cast<std::size_t>(s)].data() + (warp * 4 + r) * 32;
          for (int lane = 0; lane < 32; ++lane) {
            std::uint32_t word = 0;
            for (int i = 0; i < 4 / bytes; ++i) {  // the manual's formulas differ by type; all of them say this
              const int m = warp * 16 + lane / 4 + (r % 2) * 8;
              const int column = s * k + (r / 2) * (k / 2) + lane % 4 * (4 / bytes) + i;
              word |= a.bits[static_cast<std::size_t>(m * a.k + column)] << (8 * bytes * i);
            }
            row[lane] = word;
          }
          step.a_rows[static_cast<std::size_t>(warp)][static_cast<std::size_t>(r)] = row;
        }
    ASSERT_EQ(step.refusal(shape), "");
    steps.push_back(step);
  }
  const auto problem = wgmma(shape, steps, shared, registers.target());
  ASSERT_FALSE(problem) << problem->operand << " " << problem->address;
  const double sign = setup.negate_a != setup.negate_b ? -1 : 1;
  for (int row = 0; row < 64; ++row)
    for (int column = 0; column < n; ++column) {
      double sum = 0, size = 0;
      for (int i = 0; i < a.k; ++i) {
        const double product = sign * a.at(row, i) * b.at(column, i);
        sum += product;
        size += std::abs(product);
      }
      const double bound = shape.sum == Sum::s32   ? 0
                           : shape.sum == Sum::f32 ? size * a.k * 0x1p-24
                                                   : size * 0x1p-10 * setup.steps;
      ASSERT_NEAR(registers.at(shape.sum, row, column), sum, bound)
          << "row " << row << " column " << column << " n " << n;
    }
}

Layout k_layout(Swizzle swizzle, int rows) {
  if (swizzle == Swizzle::none) return {swizzle, static_cast<std::uint32_t>(rows) * 16, 128};
  return {swizzle, 16, 8 * (256u >> static_cast<unsigned>(swizzle))};
}
Layout mn_layout(Swizzle swizzle) {
  if (swizzle == Swizzle::none) return {swizzle, 128, 256};
  const std::uint32_t pitch = 256u >> static_cast<unsigned>(swizzle);
  return {swizzle, 16 * pitch, 8 * pitch};
}

constexpr Swizzle swizzles[] = {Swizzle::none, Swizzle::bytes128, Swizzle::bytes64, Swizzle::bytes32};

struct Types {
  Element a, b;
  Sum sum;
};
constexpr Types every_type[] = {{Element::f16, Element::f16, Sum::f16},   {Element::f16, Element::f16, Sum::f32},
                                {Element::bf16, Element::bf16, Sum::f32}, {Element::tf32, Element::tf32, Sum::f32},
                                {Element::e4m3, Element::e4m3, Sum::f32}, {Element::e4m3, Element::e5m2, Sum::f16},
                                {Element::e5m2, Element::e4m3, Sum::f32}, {Element::e5m2, Element::e5m2, Sum::f16},
                                {Element::s8, Element::s8, Sum::s32},     {Element::s8, Element::u8, Sum::s32},
                                {Element::u8, Element::s8, Sum::s32},     {Element::u8, Element::u8, Sum::s32}};

TEST(Wgmma, EveryLegalNOfEveryType) {
  unsigned seed = 1;
  for (const Types& types : every_type)
    for (int n = 8; n <= 256; n += 8) {
      const Product setup{.shape = {n, types.a, types.b, types.sum, false},
                          .a = k_layout(Swizzle::bytes32, 64),
                          .b = k_layout(Swizzle::bytes32, n)};
      if (!setup.shape.refusal().empty()) continue;
      check(setup, seed++);
      if (HasFatalFailure()) return;
    }
}

TEST(Wgmma, EverySwizzleOfEveryTypeFromSharedMemoryAndRegisters) {
  unsigned seed = 100;
  for (const Types& types : every_type)
    for (Swizzle a : swizzles)
      for (Swizzle b : swizzles)
        for (bool in_registers : {false, true}) {
          const int n = 48;
          check({.shape = {n, types.a, types.b, types.sum, false},
                 .a = k_layout(a, 64),
                 .b = k_layout(b, n),
                 .a_in_registers = in_registers},
                seed++);
          if (HasFatalFailure()) return;
        }
}

TEST(Wgmma, BothMajornessesOf16BitTypesInEverySwizzle) {
  unsigned seed = 1000;
  for (Swizzle a : swizzles)
    for (Swizzle b : swizzles)
      for (bool a_mn : {false, true})
        for (bool b_mn : {false, true})
          for (int n : {24, 200}) {
            check({.shape = {n, Element::f16, Element::f16, Sum::f32, false},
                   .a = a_mn ? mn_layout(a) : k_layout(a, 64),
                   .b = b_mn ? mn_layout(b) : k_layout(b, n),
                   .a_mn = a_mn,
                   .b_mn = b_mn},
                  seed++);
            if (HasFatalFailure()) return;
          }
}

TEST(Wgmma, StepsAdvanceThroughASwizzledTile) {
  for (Swizzle swizzle : {Swizzle::none, Swizzle::bytes128})
    for (const Types& types : every_type)
      for (bool in_registers : {false, true}) {
        check({.shape = {64, types.a, types.b, types.sum, false},
               .a = k_layout(swizzle, 64),
               .b = k_layout(swizzle, 64),
               .a_in_registers = in_registers,
               .steps = 4},
              7);
        if (HasFatalFailure()) return;
      }
  for (Swizzle swizzle : swizzles) {  // along k an MN-major tile goes on by SBO (or LBO without swizzle)
    const std::uint32_t pitch = 256u >> static_cast<unsigned>(swizzle);
    const Layout a = swizzle == Swizzle::none ? Layout{swizzle, 128, 1024} : Layout{swizzle, 64 * pitch, 8 * pitch};
    check({.shape = {64, Element::bf16, Element::bf16, Sum::f32, false},
           .a = a,
           .b = k_layout(Swizzle::bytes128, 64),
           .a_mn = true,
           .steps = 4},
          9);
  }
}

TEST(Wgmma, ScalesOfMinusOneNegate) {
  for (bool a : {false, true})
    for (bool b : {false, true})
      check({.shape = {16, Element::bf16, Element::bf16, Sum::f32, false},
             .a = k_layout(Swizzle::none, 64),
             .b = k_layout(Swizzle::none, 16),
             .negate_a = a,
             .negate_b = b},
            3);
}

// One row of ones times columns of ones, over what the accumulators held.
struct Ones {
  std::vector<std::byte> shared = std::vector<std::byte>(window);
  Registers registers;
  WgmmaStep step;
  explicit Ones(std::byte value) {
    for (std::size_t i = a_at; i < b_at + 0x2000; ++i) shared[i] = value;
    step.a = {a_at, 1024, 128, 0, Swizzle::none};
    step.b = {b_at, 128, 256, 0, Swizzle::none};
  }
};

TEST(Wgmma, IntegerSumsWrapOrSaturate) {
  for (bool saturate : {false, true}) {
    Ones ones(std::byte{1});
    const WgmmaShape shape{8, Element::s8, Element::u8, Sum::s32, saturate};
    for (auto& word : ones.registers.words) word = 0x7ffffff0;
    ASSERT_FALSE(wgmma(shape, std::span(&ones.step, 1), ones.shared, ones.registers.target()));
    EXPECT_EQ(ones.registers.word(0, 0, 0), saturate ? 0x7fffffffu : 0x7ffffff0u + 32);
  }
}

TEST(Wgmma, WithoutScaleDTheOldAccumulatorsAreNotRead) {
  for (Sum sum : {Sum::f32, Sum::f16}) {
    Ones ones(std::byte{0});
    for (auto& word : ones.registers.words) word = 0x7fffffff;
    ones.step.accumulate = false;
    ASSERT_FALSE(wgmma({8, Element::f16, Element::f16, sum, false}, std::span(&ones.step, 1), ones.shared,
                       ones.registers.target()));
    EXPECT_EQ(ones.registers.at(sum, 13, 5), 0);
  }
}

TEST(Wgmma, NanIsCanonicalAndRegistersBeyondDAreLeft) {
  Ones ones(std::byte{0});
  const std::uint16_t nan = 0xffc1;
  std::memcpy(&ones.shared[a_at], &nan, 2);
  for (auto& word : ones.registers.words) word = 0x40000000;
  ASSERT_FALSE(wgmma({8, Element::bf16, Element::bf16, Sum::f32, false}, std::span(&ones.step, 1), ones.shared,
                     ones.registers.target()));
  EXPECT_EQ(ones.registers.word(0, 0, 0), 0x7fffffffu);
  EXPECT_EQ(ones.registers.word(0, 2, 0), 0x40000000u);
  EXPECT_EQ(ones.registers.word(3, 4, 31), 0x40000000u);
}

TEST(Wgmma, ReadsOutsideSharedMemoryAreReportedAndWriteNothing) {
  Ones ones(std::byte{1});
  ones.step.b.stride_bytes = 0x3fff0;
  const auto before = ones.registers.words;
  const auto problem = wgmma({16, Element::f16, Element::f16, Sum::f32, false}, std::span(&ones.step, 1), ones.shared,
                             ones.registers.target());
  ASSERT_TRUE(problem);
  EXPECT_EQ(problem->operand, 'B');
  EXPECT_EQ(problem->address, b_at + 0x3fff0);
  EXPECT_EQ(ones.registers.words, before);
  ones.step.a.address = window - 8;
  EXPECT_EQ(wgmma({8, Element::f16, Element::f16, Sum::f32, false}, std::span(&ones.step, 1), ones.shared,
                  ones.registers.target())
                ->operand,
            'A');
}

TEST(Wgmma, EveryCpuGivesTheSameBits) {
  std::vector<std::vector<std::uint32_t>> results;
  for (Cpu cpu : {Cpu::baseline, Cpu::avx2, Cpu::avx512}) {
    if (cpu > best_cpu()) continue;
    use_cpu(cpu);
    Ones ones(std::byte{0});
    std::mt19937 random(5);
    for (std::size_t i = a_at; i < b_at + 0x2000; ++i)
      ones.shared[i] = static_cast<std::byte>(random());  // NaN, infinities
    for (auto& word : ones.registers.words) word = random() >> 3;
    wgmma({56, Element::bf16, Element::bf16, Sum::f32, false}, std::span(&ones.step, 1), ones.shared,
          ones.registers.target());
    results.push_back(ones.registers.words);
  }
  use_cpu(best_cpu());
  for (const auto& result : results) EXPECT_EQ(result, results.front());
}

TEST(Wgmma, DescriptorFieldsAreWhereTheManualSays) {
  const std::uint64_t bits = 0x1234ull >> 0 | 0x0567ull << 16 | 0x089aull << 32 | 5ull << 49 | 2ull << 62;
  const auto descriptor = MatrixDescriptor::decode(bits);
  EXPECT_EQ(descriptor.address, 0x12340u);
  EXPECT_EQ(descriptor.leading_bytes, 0x5670u);
  EXPECT_EQ(descriptor.stride_bytes, 0x89a0u);
  EXPECT_EQ(descriptor.base_offset, 5u);
  EXPECT_EQ(descriptor.swizzle, Swizzle::bytes64);
}

TEST(Wgmma, WhatTheChipDoesNotHaveIsRefused) {
  const auto refusal = [](int n, Element a, Element b, Sum sum, bool saturate = false) {
    return WgmmaShape{n, a, b, sum, saturate}.refusal();
  };
  EXPECT_NE(refusal(0, Element::bf16, Element::bf16, Sum::f32), "");
  EXPECT_NE(refusal(12, Element::bf16, Element::bf16, Sum::f32), "");
  EXPECT_NE(refusal(264, Element::bf16, Element::bf16, Sum::f32), "");
  EXPECT_NE(refusal(40, Element::s8, Element::s8, Sum::s32), "");
  EXPECT_EQ(refusal(24, Element::s8, Element::u8, Sum::s32), "");
  EXPECT_NE(refusal(16, Element::bf16, Element::f16, Sum::f32), "");
  EXPECT_NE(refusal(16, Element::bf16, Element::bf16, Sum::f16), "");
  EXPECT_NE(refusal(16, Element::tf32, Element::tf32, Sum::f16), "");
  EXPECT_NE(refusal(16, Element::e4m3, Element::s8, Sum::f32), "");
  EXPECT_NE(refusal(16, Element::s8, Element::s8, Sum::f32), "");
  EXPECT_NE(refusal(16, Element::f16, Element::f16, Sum::f32, true), "");
  WgmmaStep step;
  step.b_mn_major = true;
  EXPECT_NE(step.refusal({16, Element::e4m3, Element::e4m3, Sum::f32, false}), "");
  EXPECT_EQ(step.refusal({16, Element::bf16, Element::bf16, Sum::f32, false}), "");
}

}  // namespace
}  // namespace wm::vgpu::numeric
