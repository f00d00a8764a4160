// Element types: names, and rounding and saturation of the small floats on the host.
#include "warpmill/dtype.hpp"

#include <bit>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "warpmill/error.hpp"

using namespace wm;

TEST(DType, NamesRoundTripAndUnknownOnesAreListed) {
  for (int i = 0; i <= static_cast<int>(DType::e5m2); ++i) {
    const auto dtype = static_cast<DType>(i);
    EXPECT_EQ(dtype_from_name(name_of(dtype)), dtype);
  }
  try {
    dtype_from_name("float");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("bf16"), std::string::npos);
  }
}

// Every value of a small format survives the way to float and back, and the midpoint of two neighbours goes to the even
// one.
template <class T, class Bits>
void check_format(Bits largest_finite) {
  for (std::uint32_t bits = 0; bits <= largest_finite; ++bits) {
    T value;
    value.bits = static_cast<Bits>(bits);
    const float wide = static_cast<float>(value);
    EXPECT_EQ(T(wide).bits, bits);
    if (bits == 0) continue;
    T below;
    below.bits = static_cast<Bits>(bits - 1);
    const float middle = (static_cast<float>(below) + wide) / 2;
    const std::uint32_t even = bits % 2 == 0 ? bits : bits - 1;
    EXPECT_EQ(T(middle).bits, even) << bits;
    EXPECT_EQ(T(std::nextafter(middle, 1e38f)).bits, bits) << bits;
  }
}
TEST(DType, SmallFormatsRoundToNearestEven) {
  check_format<f16, std::uint16_t>(0x7bff);
  check_format<e4m3, std::uint8_t>(0x7e);
  check_format<e5m2, std::uint8_t>(0x7b);
}
TEST(DType, Bf16RoundsToNearestEven) {
  for (std::uint32_t bits = 0x0080; bits <= 0x7f7f; ++bits) {
    bf16 value;
    value.bits = static_cast<std::uint16_t>(bits);
    EXPECT_EQ(bf16(static_cast<float>(value)).bits, bits);
  }
  EXPECT_EQ(bf16(1.00390625f).bits, 0x3f80);  // exactly half way, to even
  EXPECT_EQ(bf16(1.01171875f).bits, 0x3f82);
  EXPECT_EQ(bf16(std::numeric_limits<float>::max()).bits, 0x7f80);
  // From a float as from a double, of every exponent and sign, with what is cut off below, at and above the half.
  for (std::uint64_t bits = 0; bits < 0x1'0000'0000; bits += 0x3fff) {
    const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    std::uint16_t stored = 0;
    store_element(DType::bf16, &stored, value);
    ASSERT_EQ(bf16(value).bits, stored) << value;
  }
}
TEST(DType, SmallFormatsSaturateOrOverflowAsTheChipDoes) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(f16(70000.f).bits, 0x7c00);
  EXPECT_EQ(e4m3(infinity).bits, 0x7e);
  EXPECT_EQ(e4m3(-1e9f).bits, 0xfe);
  EXPECT_EQ(e5m2(infinity).bits, 0x7b);
  EXPECT_TRUE(std::isnan(static_cast<float>(e4m3(std::nanf("")))));
  EXPECT_EQ(f16(-0.f).bits, 0x8000);
}
TEST(DType, IntegersSaturate) {
  std::uint8_t u8 = 7;
  store_element(DType::u8, &u8, 300);
  EXPECT_EQ(u8, 255);
  std::int8_t i8 = 7;
  store_element(DType::i8, &i8, -300);
  EXPECT_EQ(i8, -128);
  std::int64_t i64 = 7;
  store_element(DType::i64, &i64, 1e30);
  EXPECT_EQ(i64, std::numeric_limits<std::int64_t>::max());
}
