// Integer instructions against loops over bits and bytes, and the corners of their counts.
#include "vgpu/isa/numeric/integer.hpp"

#include <random>

#include <gtest/gtest.h>

namespace wm::vgpu::numeric {
namespace {

TEST(Integer, HighProductsAreTheUpperHalf) {
  EXPECT_EQ(multiply_high_u32(0xffffffff, 0xffffffff), 0xfffffffeu);
  EXPECT_EQ(multiply_high_s32(0xffffffff, 0xffffffff), 0u);
  EXPECT_EQ(multiply_high_s32(0x80000000, 0x80000000), 0x40000000u);
  EXPECT_EQ(multiply_high_u64(~0ull, ~0ull), ~0ull - 1);
  EXPECT_EQ(multiply_high_s64(~0ull, 1), ~0ull);
  EXPECT_EQ(multiply24_low(0x01ffffff, 0xffffff, false), static_cast<std::uint32_t>(0xffffffull * 0xffffffull));
  EXPECT_EQ(multiply24_high(0x800000, 2, true), 0xffffff00u);
  EXPECT_EQ(saturate_s32(3000000000ll), 0x7fffffffu);
}

TEST(Integer, AbsoluteDifferencesDoNotOverflow) {
  EXPECT_EQ(sum_of_absolute_difference(std::int64_t{-5}, std::int64_t{7}, 1), 13u);
  EXPECT_EQ(sum_of_absolute_difference(std::uint64_t{5}, std::uint64_t{7}, 1), 3u);
  EXPECT_EQ(sum_of_absolute_difference(INT64_MIN, INT64_MAX, 0), ~0ull);
}

TEST(Integer, DotProductsHonourEachOperandsSign) {
  EXPECT_EQ(dot4(0xff01ff01, 0x02020202, 10, true, true), 10u);
  EXPECT_EQ(dot4(0xff01ff01, 0x02020202, 10, false, true), 10u + 2 * (255 + 1 + 255 + 1));
  EXPECT_EQ(dot4(0xffffffff, 0x80808080, 0, false, true), static_cast<std::uint32_t>(-4 * 255 * 128));
  EXPECT_EQ(dot2(0xffff0003, 0x04030201, 0, true, true, false), 3u * 1 - 2);
  EXPECT_EQ(dot2(0xffff0003, 0x04030201, 0, false, false, true), 3u * 3 + 65535u * 4);
}

TEST(Integer, Lop3FollowsItsTable) {
  std::mt19937 random(3);
  for (int table = 0; table < 256; ++table) {
    const std::uint32_t a = random(), b = random(), c = random();
    std::uint32_t expected = 0;
    for (int i = 0; i < 32; ++i) expected |= (table >> ((a >> i & 1) * 4 + (b >> i & 1) * 2 + (c >> i & 1)) & 1u) << i;
    EXPECT_EQ(lop3(a, b, c, static_cast<std::uint8_t>(table)), expected);
  }
}

TEST(Integer, PermuteSelectsBytesInEveryMode) {
  const std::uint32_t a = 0x33221100, b = 0x77665544;
  EXPECT_EQ(permute(a, b, 0x7530, Permute::index), 0x77553300u);
  EXPECT_EQ(permute(0x80, 0, 0x8888, Permute::index), 0xffffffffu);
  EXPECT_EQ(permute(a, b, 1, Permute::f4e), 0x44332211u);
  EXPECT_EQ(permute(a, b, 1, Permute::b4e), 0x66770011u);
  EXPECT_EQ(permute(a, b, 2, Permute::rc8), 0x22222222u);
  EXPECT_EQ(permute(a, b, 2, Permute::ecl), 0x33222222u);
  EXPECT_EQ(permute(a, b, 2, Permute::ecr), 0x22221100u);
  EXPECT_EQ(permute(a, b, 1, Permute::rc16), 0x33223322u);
}

TEST(Integer, BitFieldsStopAtTheTop) {
  EXPECT_EQ(extract_bits(0xf0, 4, 4, 32, false), 0xfu);
  EXPECT_EQ(extract_bits(0xf0, 4, 4, 32, true), 0xffffffffu);
  EXPECT_EQ(extract_bits(0x80000000, 28, 20, 32, false), 8u);
  EXPECT_EQ(extract_bits(0x80000000, 40, 4, 32, true), 0xffffffffu);
  EXPECT_EQ(extract_bits(0xffffffff, 4, 0, 32, true), 0u);
  EXPECT_EQ(extract_bits(~0ull, 0, 64, 64, false), ~0ull);
  EXPECT_EQ(insert_bits(0xff, 0, 4, 8, 32), 0xff0u);
  EXPECT_EQ(insert_bits(0xff, 0x12345678, 32, 8, 32), 0x12345678u);
  EXPECT_EQ(insert_bits(0xffffffff, 0, 28, 200, 32), 0xf0000000u);
  EXPECT_EQ(find_highest(0, 32, false, false), 0xffffffffu);
  EXPECT_EQ(find_highest(0xffffffff, 32, true, false), 0xffffffffu);
  EXPECT_EQ(find_highest(0x00800000, 32, false, true), 8u);
  EXPECT_EQ(find_highest(1ull << 40, 64, true, false), 40u);
  EXPECT_EQ(reverse_bits(1, 32), 0x80000000u);
  EXPECT_EQ(reverse_bits(3, 64), 0xc000000000000000u);
}

TEST(Integer, ShiftsPastTheWidthAreDefined) {
  EXPECT_EQ(shift_left(1, 32, 32), 0u);
  EXPECT_EQ(shift_right(0x80000000, 40, 32), 0u);
  EXPECT_EQ(shift_right_signed(-1, 99, 32), ~0ull);
  EXPECT_EQ(funnel_left(0x80000000, 1, 1, false), 3u);
  EXPECT_EQ(funnel_left(0x12345678, 1, 99, false), 0x12345678u);
  EXPECT_EQ(funnel_left(0x12345678, 1, 32, true), 1u);
  EXPECT_EQ(funnel_right(0, 0x12345678, 40, false), 0x12345678u);
  EXPECT_EQ(funnel_right(2, 1, 33, true), 0x80000001u);
}

}  // namespace
}  // namespace wm::vgpu::numeric
