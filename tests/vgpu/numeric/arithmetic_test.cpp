// Arithmetic against the host in each rounding mode (f32, f64) and against exact choices between neighbours (f16,
// bf16).
#include "vgpu/isa/numeric/arithmetic.hpp"

#include <bit>
#include <cfenv>

#include <gtest/gtest.h>

#include "vgpu/isa/numeric/approximate.hpp"
#include "vgpu/isa/numeric/convert.hpp"
#include "vgpu/numeric/reference.hpp"

namespace wm::vgpu::numeric {
namespace {

const struct {
  Rounding rounding;
  int host;
} modes[] = {{Rounding::rn, FE_TONEAREST},
             {Rounding::rz, FE_TOWARDZERO},
             {Rounding::rm, FE_DOWNWARD},
             {Rounding::rp, FE_UPWARD}};

template <class T>
struct Bits;
template <>
struct Bits<float> {
  using type = std::uint32_t;
  static constexpr Format format = Format::f32;
};
template <>
struct Bits<double> {
  using type = std::uint64_t;
  static constexpr Format format = Format::f64;
};

// Random numbers whose exponents lie close enough to meet, with zeros, extremes, subnormals and specials among them.
template <class T>
std::vector<T> samples(std::size_t count, unsigned seed) {
  std::mt19937_64 random(seed);
  using Limits = std::numeric_limits<T>;
  const T edges[] = {0,
                     T(-0.0),
                     1,
                     -1,
                     Limits::max(),
                     -Limits::max(),
                     Limits::min(),
                     -Limits::min(),
                     Limits::denorm_min(),
                     -Limits::denorm_min(),
                     Limits::infinity(),
                     -Limits::infinity(),
                     Limits::quiet_NaN(),
                     1 + Limits::epsilon(),
                     Limits::min() - Limits::denorm_min(),
                     Limits::epsilon() / 2};
  std::vector<T> all;
  while (all.size() < count) {
    const std::uint64_t r = random();
    typename Bits<T>::type bits = static_cast<typename Bits<T>::type>(random());
    if (r % 4 == 0) {
      all.push_back(edges[r / 4 % std::size(edges)]);
    } else if (r % 4 == 1) {
      all.push_back(std::bit_cast<T>(bits));
    } else {
      const int digits = Limits::digits - 1;
      const auto mantissa = bits & ((typename Bits<T>::type{1} << digits) - 1);
      const T size = 1 + static_cast<T>(mantissa) * Limits::epsilon();
      const int exponent =
          r % 4 == 2 ? static_cast<int>(r / 4 % 60) - 30 : Limits::min_exponent + static_cast<int>(r / 4 % 40) - 25;
      all.push_back(std::ldexp(r >> 60 & 1 ? size : -size, exponent));
    }
  }
  return all;
}

template <class T>
void expect_same(std::uint64_t got, T expected, const char* what, T a, T b, T c, int host) {
  using B = typename Bits<T>::type;
  if (std::isnan(expected) && std::is_same_v<T, double> && (std::isnan(a) || std::isnan(b) || std::isnan(c)))
    ASSERT_TRUE(is_nan(Bits<T>::format, got)) << what << " " << a << " " << b << " " << c;  // which: below
  else if (std::isnan(expected))
    ASSERT_EQ(got, layout_of(Bits<T>::format).canonical_nan) << what << " " << a << " " << b << " " << c;
  else
    ASSERT_EQ(static_cast<B>(got), std::bit_cast<B>(expected))
        << what << " " << std::hexfloat << a << " " << b << " " << c << " mode " << host;
}

template <class T>
void check_directed() {
  constexpr Format format = Bits<T>::format;
  using B = typename Bits<T>::type;
  const auto as = samples<T>(12000, 1), bs = samples<T>(12000, 2), cs = samples<T>(12000, 3);
  for (std::size_t i = 0; i < as.size(); ++i)
    for (auto mode : modes) {
      volatile T a = as[i], b = bs[i], c = cs[i];
      std::fesetround(mode.host);
      volatile T sum = a + b, difference = a - b, product = a * b, fused = std::fma(T(a), T(b), T(c)), quotient = a / b,
                 root = std::sqrt(T(a)), inverse = T(1) / b;
      std::fesetround(FE_TONEAREST);
      const auto x = std::bit_cast<B>(as[i]), y = std::bit_cast<B>(bs[i]), z = std::bit_cast<B>(cs[i]);
      const Mode m{.rounding = mode.rounding};
      expect_same<T>(add(format, x, y, m), sum, "add", as[i], bs[i], cs[i], mode.host);
      expect_same<T>(subtract(format, x, y, m), difference, "sub", as[i], bs[i], cs[i], mode.host);
      expect_same<T>(multiply(format, x, y, m), product, "mul", as[i], bs[i], cs[i], mode.host);
      expect_same<T>(fma(format, x, y, z, m), fused, "fma", as[i], bs[i], cs[i], mode.host);
      expect_same<T>(divide(format, x, y, m), quotient, "div", as[i], bs[i], cs[i], mode.host);
      expect_same<T>(square_root(format, x, m), root, "sqrt", as[i], bs[i], cs[i], mode.host);
      expect_same<T>(reciprocal(format, y, m), inverse, "rcp", as[i], bs[i], cs[i], mode.host);
      if (testing::Test::HasFatalFailure()) return;
    }
}

TEST(Arithmetic, F32RoundsLikeTheHostInEveryDirection) { check_directed<float>(); }
TEST(Arithmetic, F64RoundsLikeTheHostInEveryDirection) { check_directed<double>(); }

// a * b + c of a 16-bit format, rounded by comparing the exact value with the neighbours and their middle.
std::uint64_t exact_half_fma(const reference::Table& table, Format format, double product, double c) {
  const double near = product + c;
  if (!std::isfinite(near)) {
    if (std::isnan(near)) return layout_of(format).canonical_nan;
    return table.round(near < 0 ? -1e300 : 1e300, Rounding::rn);
  }
  if (near == 0) {
    const bool negative = std::signbit(product) && std::signbit(c);
    return negative ? layout_of(format).sign_bit() : 0;
  }
  const double sign = near < 0 ? -1 : 1;
  __extension__ using Quad = __float128;
  const auto compare = [&](double other) {
    const Quad distance = (Quad(sign * product) - Quad(other)) + Quad(sign * c);
    return (distance > 0) - (distance < 0);
  };
  return table.round(sign < 0, std::abs(near), compare, Rounding::rn, false);
}

TEST(Arithmetic, F64PassesNansOnQuietWithSignAndPayload) {
  constexpr std::uint64_t one = 0x3ff0000000000000, infinity = 0x7ff0000000000000, invalid = 0xfff8000000000000;
  constexpr std::uint64_t x = 0x7ff0000000000001, y = 0xfff8000000000002, z = 0x7ffa000000000003;
  constexpr Format f64 = Format::f64;
  for (auto mode : modes) {
    const Mode m{.rounding = mode.rounding};
    EXPECT_EQ(add(f64, x, one, m), quiet(x));
    EXPECT_EQ(add(f64, x, y, m), y);
    EXPECT_EQ(subtract(f64, one, y, m), y);
    EXPECT_EQ(multiply(f64, y, x, m), quiet(x));
    EXPECT_EQ(fma(f64, x, y, z, m), y);
    EXPECT_EQ(fma(f64, x, one, z, m), z);
    EXPECT_EQ(divide(f64, x, y, m), quiet(x));
    EXPECT_EQ(reciprocal(f64, x, m), quiet(x));
    EXPECT_EQ(square_root(f64, y, m), y);
    EXPECT_EQ(subtract(f64, infinity, infinity, m), invalid);
  }
  EXPECT_EQ(negate(f64, x), quiet(x));
  EXPECT_EQ(absolute(f64, y), y);
  EXPECT_EQ(minimum(f64, y, x), quiet(x));
  EXPECT_EQ(maximum(f64, x, one), one);
}

TEST(Arithmetic, FlushingLooksAtTheNumberBeforeSubnormalsLoseBits) {
  const Mode ftz{.ftz = true}, up{.rounding = Rounding::rp, .ftz = true};
  constexpr std::uint32_t below_one = 0x3f7fffff, smallest = 0x00800000;
  EXPECT_EQ(multiply(Format::f32, below_one, smallest), smallest);
  EXPECT_EQ(multiply(Format::f32, below_one, smallest, ftz), 0u);
  EXPECT_EQ(multiply(Format::f32, below_one, smallest | 0x80000000, ftz), 0x80000000u);
  EXPECT_EQ(multiply(Format::f32, below_one, smallest, up), 0u);
  EXPECT_EQ(fma(Format::f32, below_one, smallest, 0, ftz), 0u);
  EXPECT_EQ(divide(Format::f32, below_one, 0x7e800000, ftz), 0u);
  EXPECT_EQ(multiply(Format::f32, 0x3f800000, smallest, ftz), smallest);
  EXPECT_EQ(multiply(Format::f16, 0x3bff, 0x0400, ftz), 0u);
  EXPECT_EQ(convert(Format::f32, Format::f64, 0x380fffffffffffff, ftz), smallest);  // rounds up in 24 bits
}

TEST(Arithmetic, HalfPrecisionRoundsOnce) {
  std::mt19937_64 random(5);
  for (Format format : {Format::f16, Format::bf16}) {
    const reference::Table table(format);
    const std::uint64_t one = layout_of(format).one();
    for (int i = 0; i < 300000; ++i) {
      std::uint64_t a = random() & 0xffff, b = random() & 0xffff, c = random() & 0xffff;
      if (i % 2) {  // exponents near one another, where rounding has something to decide
        const std::uint64_t mask = format == Format::f16 ? 0x83ff : 0x80ff;
        a = (a & mask) + one / 2 * (i % 4 == 1), b = (b & mask) + one / 2, c = (c & mask) + one / 2;
        a &= 0xffff, b &= 0xffff, c &= 0xffff;
      }
      const double x = f64_of(format, a), y = f64_of(format, b), z = f64_of(format, c);
      ASSERT_EQ(fma(format, a, b, c), exact_half_fma(table, format, x * y, z)) << x << " " << y << " " << z;
      ASSERT_EQ(add(format, a, b), exact_half_fma(table, format, x, y)) << x << " " << y;
      ASSERT_EQ(multiply(format, a, b), exact_half_fma(table, format, x * y, std::copysign(0.0, x * y)))
          << x << " " << y;
    }
  }
}

TEST(Arithmetic, ModifiersClampAndFlush) {
  const auto bits = [](float value) { return std::uint64_t{std::bit_cast<std::uint32_t>(value)}; };
  const std::uint64_t tiny = 1, minus_tiny = 0x80000001;
  EXPECT_EQ(add(Format::f32, tiny, tiny, {.ftz = true}), 0u);
  EXPECT_EQ(multiply(Format::f32, bits(1e-30f), bits(-1e-10f), {.ftz = true}), 0x80000000u);
  EXPECT_EQ(multiply(Format::f32, bits(1.0f), minus_tiny, {.ftz = true}), 0x80000000u);
  EXPECT_EQ(add(Format::f32, bits(3.0f), bits(4.0f), {.sat = true}), bits(1.0f));
  EXPECT_EQ(add(Format::f32, bits(HUGE_VALF), bits(-HUGE_VALF), {.sat = true}), 0u);
  EXPECT_EQ(fma(Format::f16, 0xc000, 0x3c00, 0x3c00, {.relu = true}), 0u);        // -2 * 1 + 1
  EXPECT_EQ(fma(Format::bf16, 0x7fc0, 0x3f80, 0x3f80, {.relu = true}), 0x7fffu);  // NaN stays
  EXPECT_EQ(negate(Format::f32, bits(1.5f)), bits(-1.5f));
  EXPECT_EQ(absolute(Format::f16, 0xbc00), 0x3c00u);
  EXPECT_EQ(copy_sign(Format::f32, bits(-1.0f), bits(2.0f)), bits(-2.0f));
  EXPECT_EQ(pairwise([](auto a, auto b) { return add(Format::f16, a, b); }, 0x3c004000u, 0x3c00c000u), 0x40000000u);
}

TEST(Arithmetic, MinAndMaxTreatNanAndZerosAsPtxSays) {
  const std::uint64_t nan = 0x7fc00001, one = 0x3f800000, zero = 0, minus_zero = 0x80000000, minus_two = 0xc0000000;
  EXPECT_EQ(minimum(Format::f32, nan, one), one);
  EXPECT_EQ(maximum(Format::f32, one, nan), one);
  EXPECT_EQ(minimum(Format::f32, nan, nan), 0x7fffffffu);
  EXPECT_EQ(maximum(Format::f32, nan, one, {.nan = true}), 0x7fffffffu);
  EXPECT_EQ(minimum(Format::f32, zero, minus_zero), minus_zero);
  EXPECT_EQ(maximum(Format::f32, minus_zero, zero), zero);
  EXPECT_EQ(maximum(Format::f32, one, minus_two), one);
  EXPECT_EQ(maximum(Format::f32, one, minus_two, {.xorsign_abs = true}), minus_two);
  EXPECT_EQ(minimum(Format::f32, minus_two, minus_two, {.xorsign_abs = true}), 0x40000000u);
  EXPECT_EQ(minimum(Format::bf16, 0xbf80, 0x3f80), 0xbf80u);
}

TEST(Arithmetic, ComparisonsAreOrderedOrNot) {
  const std::uint64_t nan = 0x7fc00000, one = 0x3f800000, two = 0x40000000;
  EXPECT_TRUE(compare(Comparison::lt, Format::f32, one, two));
  EXPECT_FALSE(compare(Comparison::ne, Format::f32, one, nan));
  EXPECT_TRUE(compare(Comparison::neu, Format::f32, one, nan));
  EXPECT_TRUE(compare(Comparison::ltu, Format::f32, nan, one));
  EXPECT_TRUE(compare(Comparison::num, Format::f32, two, one));
  EXPECT_TRUE(compare(Comparison::nan, Format::f32, two, nan));
  EXPECT_TRUE(compare(Comparison::eq, Format::f32, 1, 0, true));  // a subnormal is zero under ftz
  EXPECT_TRUE(test_property(Property::normal, Format::f32, 0));
  EXPECT_TRUE(test_property(Property::subnormal, Format::f64, 1));
}

TEST(Approximate, SpecialValuesAreTheChips) {
  const auto bits = [](float value) { return std::bit_cast<std::uint32_t>(value); };
  const float infinity = HUGE_VALF;
  EXPECT_EQ(ex2_approx(bits(-infinity), false), 0u);
  EXPECT_EQ(ex2_approx(bits(infinity), false), bits(infinity));
  EXPECT_EQ(ex2_approx(bits(-140.0f), true), 0u);
  EXPECT_EQ(ex2_approx(bits(-140.0f), false), 1u << 9);
  EXPECT_EQ(lg2_approx(bits(0.0f), false), bits(-infinity));
  EXPECT_EQ(lg2_approx(bits(-1.0f), false), 0x7fffffffu);
  EXPECT_EQ(lg2_approx(1, true), bits(-infinity));
  EXPECT_EQ(rcp_approx(bits(-0.0f), false), bits(-infinity));
  EXPECT_EQ(rcp_approx(1, true), bits(infinity));
  EXPECT_EQ(rsqrt_approx(bits(-0.0f), false), bits(-infinity));
  EXPECT_EQ(sqrt_approx(bits(-1.0f), false), 0x7fffffffu);
  EXPECT_EQ(sin_approx(bits(infinity), false), 0x7fffffffu);
  EXPECT_EQ(tanh_approx(bits(-infinity)), bits(-1.0f));
  EXPECT_EQ(div_approx(bits(3.0f), bits(0x1p127f), false), 0u);
  EXPECT_EQ(div_approx(bits(infinity), bits(0x1p127f), false), 0x7fffffffu);
  EXPECT_EQ(div_full(bits(0x1p127f), bits(0x1p127f), false), bits(1.0f));
  EXPECT_EQ(ex2_approx_half(Format::f16, 0x3c00, false), 0x4000u);
  EXPECT_EQ(tanh_approx_half(Format::bf16, 0x7f80), 0x3f80u);
}

}  // namespace
}  // namespace wm::vgpu::numeric
