// numbers.cu: the library functions, fast intrinsics, 64-bit integers, double precision, bit tricks.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>

#include "vgpu/foreign/foreign.hpp"

namespace wm {
namespace {

using Numbers = Foreign;
INSTANTIATE_TEST_SUITE_P(Nvcc, Numbers, testing::ValuesIn(everywhere), case_name);

// Equal, or within `tolerance` of the larger magnitude; NaN equals NaN.
template <typename T>
bool agree(T got, double expected, double tolerance) {
  if (std::isnan(expected)) return std::isnan(got);
  if (got == T(expected)) return true;
  return std::abs(double(got) - expected) <= tolerance * std::max(std::abs(expected), std::abs(double(got)));
}

template <typename T>
struct Function {
  const char* name;
  double (*host)(T);
  double tolerance;  // relative; 0: the very same number
};

std::vector<double> arguments(std::initializer_list<double> special) {
  std::vector<double> values(special);
  for (int i = -40; i <= 40; ++i) values.push_back(i * 0.2437);
  return values;
}

TEST_P(Numbers, SinglePrecisionFunctions) {
  constexpr double close = 5e-7;  // four units in the last place, the most that CUDA states for these
  const Function<float> functions[] = {
      {"sin", [](float a) { return std::sin(double(a)); }, close},
      {"cos", [](float a) { return std::cos(double(a)); }, close},
      {"tan", [](float a) { return std::tan(double(a * 0.1f)); }, close},
      {"exp", [](float a) { return std::exp(double(a * 0.25f)); }, close},
      {"exp2", [](float a) { return std::exp2(double(a)); }, close},
      {"log", [](float a) { return std::log(double(std::fabs(a) + 0.5f)); }, 1e-5},  // close to 1 the argument rounds
      {"log2", [](float a) { return std::log2(double(std::fma(a, a, 1.0f))); }, close},
      {"pow", [](float a) { return std::pow(double(std::fabs(a)), double(1.7f)); }, close},
      {"sqrt", [](float a) { return double(std::sqrt(std::fabs(a))); }, 0},
      {"rsqrt", [](float a) { return 1 / std::sqrt(double(std::fabs(a) + 1)); }, close},
      {"tanh", [](float a) { return std::tanh(double(a)); }, close},
      {"erf", [](float a) { return std::erf(double(a * 0.3f)); }, close},
      {"atan2", [](float a) { return std::atan2(double(a), 2.0); }, close},
      {"asin", [](float a) { return std::asin(double(a * 0.01f)); }, close},
      {"sinh", [](float a) { return std::sinh(double(a * 0.2f)); }, close},
      {"cbrt", [](float a) { return std::cbrt(double(a)); }, close},
      {"fmod", [](float a) { return double(std::fmod(a, 3.3f)); }, 0},
      {"remainder", [](float a) { return double(std::remainder(a, 2.2f)); }, 0},
      {"floor", [](float a) { return double(std::floor(a)); }, 0},
      {"ceil", [](float a) { return double(std::ceil(a)); }, 0},
      {"rint", [](float a) { return double(std::rint(a)); }, 0},
      {"trunc", [](float a) { return double(std::trunc(a)); }, 0},
      {"divide", [](float a) { return double(a / 3.7f); }, 0},
      {"reciprocal", [](float a) { return double(1.0f / (a + 100)); }, 0},
      {"ldexp", [](float a) { return double(std::ldexp(a, 5)); }, 0},
      {"hypot", [](float a) { return std::hypot(double(a), 2.0); }, close},
      {"log1p", [](float a) { return std::log1p(double(std::fabs(a))); }, close},
      {"expm1", [](float a) { return std::expm1(double(a * 0.1f)); }, close},
      {"copysign", [](float a) { return std::copysign(2.0, double(a)); }, 0},
      {"fma", [](float a) { return double(std::fma(a, a, -1.0f)); }, 0},
  };
  const auto values = arguments({0.0, -0.0, 1e-30, 1e6, -3.5e7, 104.0, INFINITY, NAN});
  const std::vector<float> in(values.begin(), values.end());
  const int count = int(in.size()), columns = int(std::size(functions));
  const Buffer input = buffer(in), out = zeros<float>(std::size_t(count) * columns);
  run(kernel("numbers", "singles"), {.grid = {4}, .block = {32}}, input, out, count);
  const auto got = out.download<float>();
  for (int i = 0; i < count; ++i)
    for (int k = 0; k < columns; ++k)
      EXPECT_TRUE(agree(got[i * columns + k], functions[k].host(in[i]), functions[k].tolerance))
          << functions[k].name << "(" << in[i] << ") = " << got[i * columns + k] << ", expected "
          << functions[k].host(in[i]);
}

TEST_P(Numbers, DoublePrecisionFunctions) {
  constexpr double close = 1e-15;
  const Function<double> functions[] = {
      {"sin", [](double a) { return std::sin(a); }, close},
      {"cos", [](double a) { return std::cos(a); }, close},
      {"exp", [](double a) { return std::exp(a * 0.25); }, close},
      {"log", [](double a) { return std::log(std::fabs(a) + 0.5); }, 1e-13},
      {"pow", [](double a) { return std::pow(std::fabs(a), 1.7); }, close},
      {"sqrt", [](double a) { return std::sqrt(std::fabs(a)); }, 0},
      {"tanh", [](double a) { return std::tanh(a); }, close},
      {"divide", [](double a) { return a / 3.7; }, 0},
      {"fma", [](double a) { return std::fma(a, a, -1.0); }, 0},
      {"floor", [](double a) { return std::floor(a); }, 0},
      {"rint", [](double a) { return std::rint(a); }, 0},
      {"cbrt", [](double a) { return std::cbrt(a); }, close},
      {"rsqrt", [](double a) { return 1 / std::sqrt(std::fabs(a) + 1); }, close},
      {"fmod", [](double a) { return std::fmod(a, 3.3); }, 0},
      {"atan", [](double a) { return std::atan(a); }, close},
      {"reciprocal", [](double a) { return 1.0 / (a + 100); }, 0},
  };
  const auto in = arguments({0.0, -0.0, 1e-300, 1e9, -2e10, 700.0, INFINITY, NAN});
  const int count = int(in.size()), columns = int(std::size(functions));
  const Buffer input = buffer(in), out = zeros<double>(std::size_t(count) * columns);
  run(kernel("numbers", "doubles"), {.grid = {3}, .block = {32}}, input, out, count);
  const auto got = out.download<double>();
  for (int i = 0; i < count; ++i)
    for (int k = 0; k < columns; ++k)
      EXPECT_TRUE(agree(got[i * columns + k], functions[k].host(in[i]), functions[k].tolerance))
          << functions[k].name << "(" << in[i] << ") = " << got[i * columns + k] << ", expected "
          << functions[k].host(in[i]);
}

float rounded(double exact, int direction) {  // -1 down, 0 towards zero, 1 up
  const float nearest = float(exact);
  if (direction == 1) return double(nearest) < exact ? std::nextafter(nearest, INFINITY) : nearest;
  if (direction == -1) return double(nearest) > exact ? std::nextafter(nearest, -INFINITY) : nearest;
  return std::abs(double(nearest)) > std::abs(exact) ? std::nextafter(nearest, 0.0f) : nearest;
}

TEST_P(Numbers, FastIntrinsics) {
  std::vector<float> in;
  for (int i = 0; i < 64; ++i) in.push_back(float(i - 32) * 0.097f);
  const Buffer input = buffer(in), out = zeros<float>(64 * 6);
  run(kernel("numbers", "fast"), {.grid = {1}, .block = {64}}, input, out);
  const auto got = out.download<float>();
  for (int i = 0; i < 64; ++i) {
    const double a = in[i];
    const float* row = &got[i * 6];
    EXPECT_NEAR(row[0], std::sin(a), 5e-7) << a;
    EXPECT_NEAR(row[1], std::exp(a * 0.25), 2e-6) << a;
    EXPECT_NEAR(row[2], std::log(std::abs(a) + 0.5), 1e-6) << a;
    EXPECT_NEAR(row[3], std::pow(std::abs(a) + 0.1, 1.3), 5e-6) << a;
    EXPECT_NEAR(row[4], a / 3.7, 1e-6) << a;
    const float sum = 1.0f / (in[i] + 100) + rounded(std::sqrt(std::abs(a)), 0);  // the exact root is irrational
    const float expected =
        sum + rounded(a + double(1e-9f), 1) + rounded(a * double(1.1f), -1) + std::clamp(in[i], 0.0f, 1.0f);
    EXPECT_EQ(row[5], expected) << a;
  }
}

TEST_P(Numbers, SixtyFourBitIntegers) {
  std::mt19937_64 random(3);
  std::vector<std::int64_t> a(96), b(96);
  for (int i = 0; i < 96; ++i) {
    a[i] = std::int64_t(random()) >> (random() % 60);
    b[i] = std::int64_t(random() | 1) >> (random() % 60);
    if (b[i] == 0 || b[i] == -1) b[i] = 7;
  }
  a[0] = 0, a[1] = INT64_MIN, a[2] = INT64_MAX;
  const Buffer left = buffer(a), right = buffer(b), out = zeros<std::int64_t>(96 * 12);
  run(kernel("numbers", "integers64"), {.grid = {1}, .block = {96}}, left, right, out);
  const auto got = out.download<std::int64_t>();
  for (int i = 0; i < 96; ++i) {
    const std::int64_t x = a[i], y = b[i];
    const auto ux = std::uint64_t(x), uy = std::uint64_t(y);
    std::uint64_t reversed = 0;
    for (int bit = 0; bit < 64; ++bit) reversed |= (ux >> bit & 1) << (63 - bit);
    const int ffs = ux == 0 ? 0 : std::countr_zero(ux) + 1;
    const std::uint64_t expected[] = {std::uint64_t(x / y),
                                      std::uint64_t(x % y),
                                      ux / uy,
                                      ux % uy,
                                      ux * uy,
                                      std::uint64_t((__int128(x) * y) >> 64),
                                      std::uint64_t(((unsigned __int128)ux * uy) >> 64),
                                      std::uint64_t(x >> (y & 63)) ^ (ux << (uy & 63)),
                                      std::uint64_t(std::popcount(ux) * 10000 + std::countl_zero(ux) * 100 + ffs),
                                      reversed,
                                      std::uint64_t((x < y) + 2 * (ux < uy) + 4 * (x == y)),
                                      (x < 0 ? 0 - ux : ux) - (y > 0 ? uy : 0 - uy)};
    for (int k = 0; k < 12; ++k) EXPECT_EQ(std::uint64_t(got[i * 12 + k]), expected[k]) << x << " " << y << " " << k;
  }
}

template <typename Lane, typename Operation>
std::uint32_t lanewise(std::uint32_t x, std::uint32_t y, const Operation& operation) {
  constexpr int width = 8 * sizeof(Lane);
  std::uint32_t result = 0;
  for (int at = 0; at < 32; at += width)
    result |= std::uint32_t(std::make_unsigned_t<Lane>(operation(Lane(x >> at), Lane(y >> at)))) << at;
  return result;
}

TEST_P(Numbers, BitTricks) {
  auto a = whole_numbers<std::uint32_t>(64, 0, 4294967295, 1), b = whole_numbers<std::uint32_t>(64, 0, 4294967295, 2);
  a[0] = 0, b[1] = 0, a[2] = ~0u, b[2] = ~0u, a[3] = 0x7fffffff;
  const Buffer left = buffer(a), right = buffer(b), out = zeros<std::uint32_t>(64 * 14);
  run(kernel("numbers", "bits"), {.grid = {1}, .block = {64}}, left, right, out);
  const auto got = out.download<std::uint32_t>();
  for (int i = 0; i < 64; ++i) {
    const std::uint32_t x = a[i], y = b[i];
    const std::uint64_t both = std::uint64_t(y) << 32 | x;
    std::uint32_t reversed = 0, permuted = 0;
    for (int bit = 0; bit < 32; ++bit) reversed |= (x >> bit & 1) << (31 - bit);
    const std::uint32_t selector = 0x6240 | (y & 0x1111);
    for (int byte = 0; byte < 4; ++byte)
      permuted |= std::uint32_t(both >> (8 * (selector >> (4 * byte) & 7)) & 0xff) << (8 * byte);
    int signed_dot = 17;
    std::uint32_t unsigned_dot = 17;
    for (int at = 0; at < 32; at += 8) {
      signed_dot += std::int8_t(x >> at) * std::int8_t(y >> at);
      unsigned_dot += std::uint8_t(x >> at) * std::uint8_t(y >> at);
    }
    const auto sx = std::int32_t(x), sy = std::int32_t(y);
    const std::uint32_t odd = y | 1;
    const std::uint32_t quotient = sx == INT32_MIN && odd == ~0u ? x : std::uint32_t(sx / std::int32_t(odd));
    const std::uint32_t expected[] = {
        reversed,
        permuted,
        std::uint32_t((both << (x & 31)) >> 32),
        std::uint32_t((y & 63) >= 32 ? y : both >> (y & 63)),
        std::uint32_t(signed_dot),
        unsigned_dot,
        std::uint32_t(std::int64_t(sx) * sy >> 32),
        std::uint32_t(std::uint64_t(x) * y >> 32),
        (x > y ? x - y : y - x) + 5,
        std::uint32_t(std::countl_zero(x) * 100 + (y == 0 ? 0 : std::countr_zero(y) + 1)),
        (x & y) | ((~x & 0x12345678u) ^ (y & 0xff00ff00u)),
        std::uint32_t((std::int64_t(sx) + sy) >> 1) ^ std::uint32_t((std::uint64_t(x) + y + 1) >> 1),
        lanewise<std::int16_t>(x, y, [](int p, int q) { return p + q; }) ^
            lanewise<std::int8_t>(x, y, [](int p, int q) { return std::max(p, q); }) ^
            lanewise<std::uint8_t>(x, y, [](int p, int q) { return p - q; }),
        x / odd + x % odd + quotient};
    for (int k = 0; k < 14; ++k) EXPECT_EQ(got[i * 14 + k], expected[k]) << x << " " << y << " " << k;
  }
}

TEST_P(Numbers, Conversions) {
  std::vector<double> in = {0,     -0.0,   0.5,      -0.5,      1.5,      2.5,       -2.5,
                            127.9, -128.5, 32768.25, -40000.75, 16777217, 1e9 + 0.3, -1e9 - 0.7};
  while (in.size() < 32) in.push_back(std::ldexp(double(in.size()) - 20.37, int(in.size()) % 17));
  const Buffer input = buffer(in), ints = zeros<int>(32 * 8), longs = zeros<std::int64_t>(32 * 4),
               floats = zeros<float>(32 * 4);
  run(kernel("numbers", "conversions"), {.grid = {1}, .block = {32}}, input, ints, longs, floats);
  const auto i = ints.download<int>();
  const auto l = longs.download<std::int64_t>();
  const auto f = floats.download<float>();
  for (int t = 0; t < 32; ++t) {
    const double d = in[t];
    const auto single = float(d);
    const auto bits = std::bit_cast<std::uint64_t>(d);
    const int whole = int(single);
    const int expected[] = {int(d),
                            int(std::nearbyint(single)),
                            int(std::ceil(single)),
                            int(unsigned(std::abs(single))),
                            std::bit_cast<int>(single),
                            int(bits >> 32),
                            int(bits),
                            std::int16_t(whole) + std::uint8_t(whole)};
    for (int k = 0; k < 8; ++k) EXPECT_EQ(i[t * 8 + k], expected[k]) << d << " " << k;
    EXPECT_EQ(l[t * 4 + 0], std::int64_t(d));
    EXPECT_EQ(l[t * 4 + 1], std::int64_t(std::floor(d)));
    EXPECT_EQ(l[t * 4 + 2], std::int64_t(std::abs(d)));
    EXPECT_EQ(l[t * 4 + 3], std::bit_cast<std::int64_t>(d * 3));
    EXPECT_EQ(f[t * 4 + 0], single);
    EXPECT_EQ(f[t * 4 + 1], float(std::int64_t(d)));
    EXPECT_EQ(f[t * 4 + 2], rounded(double(unsigned(int(d))), 0));
    EXPECT_EQ(f[t * 4 + 3], rounded(d, 1));
  }
}

}  // namespace
}  // namespace wm
