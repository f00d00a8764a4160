// Conversions against tables of all values, and the rules for NaN, infinities and saturation.
#include "vgpu/isa/numeric/convert.hpp"

#include <bit>
#include <cfenv>
#include <limits>

#include <gtest/gtest.h>

#include "vgpu/isa/numeric/halves.hpp"
#include "vgpu/numeric/reference.hpp"

namespace wm::vgpu::numeric {
namespace {

constexpr Rounding directions[] = {Rounding::rn, Rounding::rz, Rounding::rm, Rounding::rp, Rounding::rna};
constexpr Format small_formats[] = {Format::e4m3, Format::e5m2, Format::f16, Format::bf16, Format::tf32};

std::uint64_t bits_of(double value) { return std::bit_cast<std::uint64_t>(value); }
std::uint32_t bits_of(float value) { return std::bit_cast<std::uint32_t>(value); }

TEST(Convert, WidensEveryNumberOfEverySmallFormatExactly) {
  for (Format format : small_formats) {
    const Layout layout = layout_of(format);
    const std::uint64_t step = std::uint64_t{1} << layout.unused;
    for (std::uint64_t bits = 0; bits < layout.sign_bit() * 2; bits += step) {
      const std::uint64_t wide = convert(Format::f64, format, bits);
      if (is_nan(format, bits)) {
        ASSERT_TRUE(std::isnan(std::bit_cast<double>(wide)));
        ASSERT_TRUE(std::isnan(f64_of(format, bits)));
        ASSERT_EQ(convert(Format::f32, format, bits), format == Format::bf16 ? bits << 16 : 0x7fffffffu);
        continue;
      }
      const double expected = is_infinite(format, bits) ? std::copysign(HUGE_VAL, is_negative(format, bits) ? -1 : 1)
                                                        : reference::value_of(format, bits);
      ASSERT_EQ(wide, bits_of(expected)) << static_cast<int>(format) << " " << std::hex << bits;
      ASSERT_EQ(bits_of(f64_of(format, bits)), bits_of(expected))
          << static_cast<int>(format) << " " << std::hex << bits;
      ASSERT_EQ(convert(Format::f32, format, bits), bits_of(static_cast<float>(expected)));
    }
  }
}

TEST(Convert, NarrowsToEverySmallFormatInEveryDirection) {
  const auto inputs = reference::telling_f32();
  for (Format format : small_formats) {
    const reference::Table table(format);
    const Layout layout = layout_of(format);
    for (bool satfinite : {false, true})
      for (Rounding rounding : directions)
        for (std::size_t i = static_cast<std::size_t>(rounding); i < inputs.size(); i += 5) {
          const float value = std::bit_cast<float>(inputs[i]);
          const std::uint64_t got =
              convert(format, Format::f32, inputs[i], {.rounding = rounding, .satfinite = satfinite});
          if (std::isnan(value) && format == Format::tf32 && rounding == Rounding::rna) {
            ASSERT_EQ(got, (inputs[i] & 0xffffe000) - (satfinite ? 0x2000 : 0));  // the chip only drops bits
          } else if (std::isnan(value)) {
            ASSERT_EQ(got, layout.canonical_nan);
          } else if (std::isinf(value)) {
            const std::uint64_t sign = std::signbit(value) ? layout.sign_bit() : 0;
            ASSERT_EQ(got, satfinite             ? sign | layout.largest()
                           : layout.has_infinity ? sign | layout.infinity()
                                                 : layout.canonical_nan);
          } else {
            std::uint64_t expected = table.round(value, rounding, satfinite);
            // Toward zero an overflow stops at the largest number, whatever the format has beyond it.
            const bool inward = rounding == Rounding::rz || rounding == (value < 0 ? Rounding::rp : Rounding::rm);
            if (inward && std::abs(value) > reference::value_of(format, layout.largest()))
              expected = (value < 0 ? layout.sign_bit() : 0) | layout.largest();
            ASSERT_EQ(got, expected) << static_cast<int>(format) << " of " << std::hexfloat << value << " direction "
                                     << static_cast<int>(rounding);
          }
        }
  }
}

TEST(Convert, FastRoundingEqualsTheGeneralOne) {
  for (std::uint32_t bits : reference::telling_f32()) {
    const float value = std::bit_cast<float>(bits);
    ASSERT_EQ(f16_of_f32(value), convert(Format::f16, Format::f32, bits)) << std::hexfloat << value;
    ASSERT_EQ(bf16_of_f32(value), convert(Format::bf16, Format::f32, bits)) << std::hexfloat << value;
  }
}

TEST(Convert, ReluSatAndFtzClampAsPtxSays) {
  const Mode relu{.relu = true}, sat{.sat = true}, ftz{.ftz = true};
  EXPECT_EQ(convert(Format::f16, Format::f32, bits_of(-2.0f), relu), 0u);
  EXPECT_EQ(convert(Format::f16, Format::f32, bits_of(std::nanf("")), relu), 0x7fffu);
  EXPECT_EQ(convert(Format::f32, Format::f32, bits_of(1.5f), sat), bits_of(1.0f));
  EXPECT_EQ(convert(Format::f32, Format::f32, bits_of(-1.5f), sat), 0u);
  EXPECT_EQ(convert(Format::f32, Format::f32, bits_of(0.25f), sat), bits_of(0.25f));
  EXPECT_EQ(convert(Format::f32, Format::f32, bits_of(std::nanf("")), sat), 0u);
  EXPECT_EQ(convert(Format::f32, Format::f16, 0x8001, ftz), 0xb3800000u);  // a subnormal f16 is none of f32
  EXPECT_EQ(convert(Format::f16, Format::f32, 0x33800000, ftz), 0x0001u);
  EXPECT_EQ(convert(Format::f64, Format::f32, 0x80000001, ftz), 0x8000000000000000u);
  EXPECT_EQ(convert(Format::f32, Format::f64, bits_of(1e-40), ftz), 0u);
}

TEST(Convert, F64TakesAndPassesOnThePayloadOfNan) {
  EXPECT_EQ(convert(Format::f64, Format::f32, 0xff9baecf), 0xfffb75d9e0000000u);
  EXPECT_EQ(convert(Format::f64, Format::f32, 0xff9baecf, {.ftz = true}), 0x7fffffffe0000000u);
  EXPECT_EQ(convert(Format::f64, Format::f16, 0x7c01), 0x7ff8040000000000u);
  EXPECT_EQ(convert(Format::f64, Format::bf16, 0x7f81), 0x7ff8200000000000u);
  EXPECT_EQ(convert(Format::f32, Format::f64, 0xfff56c05604e79d6), 0xffeb602bu);
  EXPECT_EQ(convert(Format::f16, Format::f64, 0xfff56c05604e79d6), 0xff5bu);
  EXPECT_EQ(round_to_integer(Format::f64, Format::f64, 0x7ff0000000000001, {}), 0x7ff8000000000001u);
  EXPECT_EQ(convert(Format::f32, Format::f32, 0x7f800001), 0x7f800001u);
}

TEST(Convert, PacksTheFirstOperandHigh) {
  const std::uint32_t one = bits_of(1.0f), two = bits_of(2.0f);
  EXPECT_EQ(pack_pair(Format::bf16, Format::f32, one, two), 0x3f804000u);
  EXPECT_EQ(pack_pair(Format::f16, Format::f32, one, two), 0x3c004000u);
  EXPECT_EQ(pack_pair(Format::e4m3, Format::f32, one, bits_of(1e9f), {.satfinite = true}), 0x387eu);
  EXPECT_EQ(pack_pair(Format::e5m2, Format::f32, one, bits_of(-1e9f), {.satfinite = true}), 0x3cfbu);
  EXPECT_EQ(convert_pair(Format::e4m3, Format::f16, 0x3c00c000, {.satfinite = true}), 0x38c0u);
  EXPECT_EQ(convert_pair(Format::f16, Format::e4m3, 0x38c0), 0x3c00c000u);
  EXPECT_EQ(convert_pair(Format::f16, Format::e5m2, 0x7c7f), 0x7c007fffu);
}

double rounded_by_host(double value, Rounding rounding) {
  switch (rounding) {
    case Rounding::rn: return std::nearbyint(value);
    case Rounding::rz: return std::trunc(value);
    case Rounding::rm: return std::floor(value);
    case Rounding::rp: return std::ceil(value);
    case Rounding::rna: return std::round(value);
  }
  return 0;
}

TEST(Convert, RoundsToIntegralFloatsWithTheSignOfTheInput) {
  for (std::uint32_t bits : reference::telling_f32()) {
    const float value = std::bit_cast<float>(bits);
    if (std::isnan(value)) continue;
    for (Rounding rounding : {Rounding::rn, Rounding::rz, Rounding::rm, Rounding::rp})
      ASSERT_EQ(round_to_integer(Format::f32, Format::f32, bits, {.rounding = rounding}),
                bits_of(static_cast<float>(rounded_by_host(value, rounding))))
          << std::hexfloat << value;
  }
}

TEST(Convert, FloatToIntegerClampsToTheRange) {
  const Integer types[] = {{8, true},  {8, false},  {16, true}, {16, false},
                           {32, true}, {32, false}, {64, true}, {64, false}};
  std::mt19937_64 random(7);
  std::vector<double> values = {0.0,    -0.0,   0.5,     -0.5,    1.5,    2.5,      -1.5,     127.5,
                                128.5,  255.5,  -128.5,  65535.5, 1e300,  -1e300,   0x1p31,   -0x1p31,
                                0x1p32, 0x1p63, -0x1p63, 0x1p64,  1e-310, HUGE_VAL, -HUGE_VAL};
  for (int i = 0; i < 20000; ++i) {
    const double mantissa = static_cast<double>(static_cast<std::int64_t>(random()));
    values.push_back(std::ldexp(mantissa, -static_cast<int>(random() % 80)));
  }
  for (double value : values)
    for (Integer type : types)
      for (Rounding rounding : {Rounding::rn, Rounding::rz, Rounding::rm, Rounding::rp}) {
        const long double whole = rounded_by_host(value, rounding);
        const long double low = type.is_signed ? -std::ldexp(1.0L, type.bits - 1) : 0.0L;
        const long double high = std::ldexp(1.0L, type.bits - type.is_signed) - 1.0L;
        const long double clamped = std::min(std::max(whole, low), high);
        const std::uint64_t expected = clamped < 0 ? static_cast<std::uint64_t>(static_cast<std::int64_t>(clamped))
                                                   : static_cast<std::uint64_t>(clamped);
        ASSERT_EQ(to_integer(type, Format::f64, bits_of(value), rounding), expected)
            << value << " " << type.bits << type.is_signed;
      }
}

TEST(Convert, NanBecomesZeroOrTheHighestBit) {
  const std::uint64_t nan32 = 0x7fc00000, nan64 = 0x7ff8000000000000;
  EXPECT_EQ(to_integer({32, true}, Format::f32, nan32, Rounding::rz), 0u);
  EXPECT_EQ(to_integer({32, false}, Format::f32, nan32, Rounding::rz), 0u);
  EXPECT_EQ(to_integer({64, true}, Format::f32, nan32, Rounding::rz), 0x8000000000000000u);
  EXPECT_EQ(to_integer({64, false}, Format::f32, nan32, Rounding::rz), 0x8000000000000000u);
  EXPECT_EQ(to_integer({32, true}, Format::f64, nan64, Rounding::rz) & 0xffffffffu, 0x80000000u);
  EXPECT_EQ(to_integer({32, false}, Format::f64, nan64, Rounding::rz), 0x80000000u);
}

TEST(Convert, IntegerToFloatRoundsOnce) {
  std::mt19937_64 random(11);
  const struct {
    Rounding rounding;
    int host;
  } modes[] = {{Rounding::rn, FE_TONEAREST},
               {Rounding::rz, FE_TOWARDZERO},
               {Rounding::rm, FE_DOWNWARD},
               {Rounding::rp, FE_UPWARD}};
  for (int i = 0; i < 20000; ++i) {
    const std::uint64_t value = random() >> random() % 64;
    for (auto mode : modes) {
      std::fesetround(mode.host);
      volatile auto input = static_cast<std::int64_t>(value);
      volatile float single = static_cast<float>(input);
      volatile double wide = static_cast<double>(input);
      std::fesetround(FE_TONEAREST);
      ASSERT_EQ(from_integer(Format::f32, {64, true}, value, {.rounding = mode.rounding}), bits_of(float{single}));
      ASSERT_EQ(from_integer(Format::f64, {64, true}, value, {.rounding = mode.rounding}), bits_of(double{wide}));
    }
  }
  EXPECT_EQ(from_integer(Format::f16, {32, false}, 65520), 0x7c00u);
  EXPECT_EQ(from_integer(Format::bf16, {8, true}, 0x80), 0xc300u);
}

TEST(Convert, IntegersAreCutOrClamped) {
  EXPECT_EQ(convert_integer({8, true}, {32, true}, 0x1ff), ~std::uint64_t{0});
  EXPECT_EQ(convert_integer({8, false}, {32, true}, 0x1ff), 0xffu);
  EXPECT_EQ(convert_integer({8, true}, {32, true}, 0x1ff, true), 127u);
  EXPECT_EQ(convert_integer({8, true}, {32, true}, static_cast<std::uint64_t>(-500), true),
            static_cast<std::uint64_t>(-128));
  EXPECT_EQ(convert_integer({32, false}, {32, true}, static_cast<std::uint64_t>(-5), true), 0u);
  EXPECT_EQ(convert_integer({32, true}, {32, false}, 0xffffffff, true), 0x7fffffffu);
  EXPECT_EQ(convert_integer({64, false}, {32, true}, 0xffffffff), ~std::uint64_t{0});
}

}  // namespace
}  // namespace wm::vgpu::numeric
