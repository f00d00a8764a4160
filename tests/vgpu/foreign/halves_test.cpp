// halves.cu: half precision, bfloat16 and 8-bit floats through the toolkit's headers.
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "vgpu/foreign/foreign.hpp"

namespace wm {
namespace {

using Halves = Foreign;
INSTANTIATE_TEST_SUITE_P(Nvcc, Halves, testing::ValuesIn(everywhere), case_name);

// A binary floating-point format: bits of precision, the least normal exponent, the largest finite value.
struct Format {
  int precision, least_exponent;
  double largest;
  double nearest(double exact) const {  // ties to even, saturating
    if (exact == 0 || std::isnan(exact)) return exact;
    const int quantum = std::max(std::ilogb(exact), least_exponent) - (precision - 1);
    return std::clamp(std::ldexp(std::nearbyint(std::ldexp(exact, -quantum)), quantum), -largest, largest);
  }
  // The bits of a value of this format, for formats of one sign bit and 8 bits in all.
  std::uint8_t encode(double value) const {
    const int mantissa_bits = precision - 1, sign = std::signbit(value) ? 0x80 : 0;
    const double magnitude = std::abs(value);
    if (magnitude < std::ldexp(1.0, least_exponent))
      return std::uint8_t(sign | int(std::ldexp(magnitude, mantissa_bits - least_exponent)));
    const int exponent = std::ilogb(magnitude);
    const int mantissa = int(std::ldexp(magnitude, mantissa_bits - exponent)) - (1 << mantissa_bits);
    return std::uint8_t(sign | (exponent - least_exponent + 1) << mantissa_bits | mantissa);
  }
};
constexpr Format half{11, -14, 65504}, brain{8, -126, 3.3895313892515355e38}, e4m3{4, -6, 448}, e5m2{3, -14, 57344};

struct Pair {
  float x, y;
};

std::vector<Pair> pairs(unsigned seed) {
  const auto numbers = whole_numbers<int>(128, -3000, 3000, seed);
  std::vector<Pair> result(64);
  for (int i = 0; i < 64; ++i) result[i] = {numbers[2 * i] / 97.0f, numbers[2 * i + 1] / 1013.0f};
  return result;
}

TEST_P(Halves, PairsOfHalves) {
  const auto a = pairs(1), b = pairs(2);
  const Buffer left = buffer(a), right = buffer(b), out = zeros<Pair>(64 * 10);
  run(kernel("halves", "half_pairs"), {.grid = {1}, .block = {64}}, left, right, out);
  const auto got = out.download<Pair>();
  for (int i = 0; i < 64; ++i) {
    const Pair* row = &got[i * 10];
    const double xs[] = {half.nearest(a[i].x), half.nearest(a[i].y)},
                 ys[] = {half.nearest(b[i].x), half.nearest(b[i].y)};
    for (int k = 0; k < 2; ++k) {
      const auto value = [&](int at) { return double(k == 0 ? row[at].x : row[at].y); };
      const double x = xs[k], y = ys[k];
      EXPECT_EQ(value(0), half.nearest(x + y)) << i;
      EXPECT_EQ(value(1), half.nearest(x * y)) << i;
      EXPECT_EQ(value(2), half.nearest(x * y + x)) << i;
      EXPECT_EQ(value(3), std::max(x, y)) << i;
      EXPECT_EQ(value(4), std::min(x, -y)) << i;
      EXPECT_EQ(value(5), half.nearest(std::abs(x - y))) << i;
      EXPECT_EQ(value(6), std::clamp(half.nearest(x + y), 0.0, 1.0)) << i;
      EXPECT_EQ(value(7), xs[1 - k]) << i;
      const double quotient = x / half.nearest(std::abs(y) + 1);
      EXPECT_NEAR(value(9), quotient, std::abs(quotient) / 1024) << i;
    }
    EXPECT_EQ(row[8].x, float(xs[0] < ys[0])) << i;
    EXPECT_EQ(row[8].y, 1.0f) << i;
  }
}

TEST_P(Halves, FunctionsOfHalves) {
  std::vector<float> in;
  for (int i = 0; i < 64; ++i) in.push_back(float(i - 30) * 0.31f);
  const Buffer input = buffer(in), out = zeros<float>(64 * 8);
  run(kernel("halves", "half_functions"), {.grid = {1}, .block = {64}}, input, out);
  const auto got = out.download<float>();
  for (int i = 0; i < 64; ++i) {
    const double x = half.nearest(in[i]);
    const float* row = &got[i * 8];
    const double approximate[] = {std::exp(half.nearest(x * 0.25)), std::sqrt(std::abs(x)), 1 / half.nearest(x + 20),
                                  std::sin(x)};
    for (int k = 0; k < 4; ++k)  // one unit in the last place
      EXPECT_NEAR(row[k], approximate[k], std::max(std::abs(approximate[k]), 1e-3) / 1024) << x << " " << k;
    EXPECT_EQ(row[4], std::floor(x)) << x;
    EXPECT_NEAR(row[5], std::log2(half.nearest(std::abs(x) + 1)), 4e-3) << x;
    EXPECT_EQ(row[6], std::nearbyint(x)) << x;
    EXPECT_EQ(row[7], half.nearest(int(in[i]) * 3)) << x;
  }
}

TEST_P(Halves, PairsOfBfloat16) {
  const auto a = pairs(3), b = pairs(4);
  const Buffer left = buffer(a), right = buffer(b), out = zeros<Pair>(64 * 6);
  run(kernel("halves", "brain_pairs"), {.grid = {1}, .block = {64}}, left, right, out);
  const auto got = out.download<Pair>();
  for (int i = 0; i < 64; ++i) {
    const Pair* row = &got[i * 6];
    const double xs[] = {brain.nearest(a[i].x), brain.nearest(a[i].y)},
                 ys[] = {brain.nearest(b[i].x), brain.nearest(b[i].y)};
    for (int k = 0; k < 2; ++k) {
      const auto value = [&](int at) { return double(k == 0 ? row[at].x : row[at].y); };
      const double x = xs[k], y = ys[k];
      EXPECT_EQ(value(0), brain.nearest(x + y)) << i;
      EXPECT_EQ(value(1), brain.nearest(x * y)) << i;
      EXPECT_EQ(value(2), brain.nearest(x * y + x)) << i;
      EXPECT_EQ(value(3), std::max(x, y)) << i;
      EXPECT_EQ(value(4), brain.nearest(std::abs(x - y))) << i;
    }
    const double towards_zero = row[5].x, exact = a[i].x;
    EXPECT_LE(std::abs(towards_zero), std::abs(exact)) << i;
    EXPECT_GT(std::abs(towards_zero) * (1 + 1.0 / 64), std::abs(exact)) << i;
    EXPECT_EQ(row[5].y, brain.nearest(xs[1] * ys[0])) << i;
  }
}

TEST_P(Halves, AtomicsOfHalfWidth) {
  const Buffer pairs = zeros<std::uint16_t>(6), brains = zeros<std::uint16_t>(4), single = zeros<std::uint16_t>(6);
  run(kernel("halves", "half_atomics"), {.grid = {1}, .block = {60}}, pairs, brains, single);
  const std::uint16_t twenty = 0x4d00, ten = 0x4900, thirty = 0x41f0, sixty = 0x4270, twenty_four = 0x4e00;
  EXPECT_EQ(pairs.download<std::uint16_t>(), (std::vector<std::uint16_t>{twenty, ten, twenty, ten, twenty, ten}));
  EXPECT_EQ(brains.download<std::uint16_t>(), (std::vector<std::uint16_t>{thirty, sixty, thirty, sixty}));
  EXPECT_EQ(single.download<std::uint16_t>(),
            (std::vector<std::uint16_t>{twenty_four, twenty_four, twenty_four, twenty_four, twenty_four, 0}));
}

TEST_P(Halves, EightBitFloats) {
  std::vector<float> in = {0.0f, 1000.0f, -1000.0f, 448.0f, 464.0f, 0.001f, -0.0009f, 0.017f, 1e-9f, 100000.0f};
  for (int i = 10; i < 64; ++i) in.push_back(std::ldexp(float(i) * 1.37f - 40, i % 11 - 5));
  const Buffer input = buffer(in), out = zeros<float>(64 * 3), bytes = zeros<std::uint8_t>(64 * 2);
  run(kernel("halves", "eighths"), {.grid = {1}, .block = {64}}, input, out, bytes);
  const auto got = out.download<float>();
  const auto encoded = bytes.download<std::uint8_t>();
  for (int i = 0; i < 64; ++i) {
    EXPECT_EQ(got[i * 3 + 0], e4m3.nearest(in[i])) << in[i];
    EXPECT_EQ(got[i * 3 + 1], e5m2.nearest(in[i])) << in[i];
    EXPECT_EQ(got[i * 3 + 2], e4m3.nearest(-in[i] * 0.5f)) << in[i];
    EXPECT_EQ(encoded[i * 2 + 0], e4m3.encode(e4m3.nearest(in[i]))) << in[i];
    EXPECT_EQ(encoded[i * 2 + 1], e5m2.encode(e5m2.nearest(in[i]))) << in[i];
  }
}

TEST_P(Halves, DotProductByVectorLoads) {
  const int vectors = 150;
  const auto a = whole_numbers<int>(vectors * 8, -8, 8, 5), b = whole_numbers<int>(vectors * 8, -8, 8, 6);
  const auto encoded = [](const std::vector<int>& values) {  // small whole numbers as halves
    std::vector<std::uint16_t> bits;
    for (const int value : values) {
      const int magnitude = std::abs(value), exponent = value == 0 ? 0 : std::ilogb(magnitude);
      const int mantissa = value == 0 ? 0 : (magnitude << (10 - exponent)) & 0x3ff;
      bits.push_back(std::uint16_t((value < 0) << 15 | (value == 0 ? 0 : exponent + 15) << 10 | mantissa));
    }
    return bits;
  };
  const Buffer left = buffer(encoded(a)), right = buffer(encoded(b)), out = zeros<float>(1);
  run(kernel("halves", "half_dot"), {.grid = {1}, .block = {96}}, left, right, out, vectors);
  int expected = 0;
  for (std::size_t i = 0; i < a.size(); ++i) expected += a[i] * b[i];
  EXPECT_EQ(out.download<float>()[0], float(expected));
}

}  // namespace
}  // namespace wm
