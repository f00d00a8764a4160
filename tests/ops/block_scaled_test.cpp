// Matrices with block scales: quantize bit by bit against a table of all numbers that a format has, and products of
// them against float64. Linked for sm_100a and for sm_120a.
#include "warpmill/block_scaled.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "ops/gemm_fixture.hpp"
#include "ops/schedules.hpp"
#include "plan/chip_rates.hpp"
#include "plan/gemm_plan_text.hpp"
#include "warpmill/error.hpp"

namespace wm::test {

using enum DType;
using enum BlockFormat;

namespace {

using GemmBlockScaled = Gemm;

// Every number of a type that is not negative, in the order of its bits.
std::vector<double> numbers(int exponent_bits, int mantissa_bits, int count) {
  std::vector<double> all;
  const int bias = (1 << (exponent_bits - 1)) - 1, mantissas = 1 << mantissa_bits;
  for (int code = 0; code < count; ++code) {
    const int exponent = code / mantissas;
    const double fraction = double(code % mantissas) / mantissas;
    all.push_back(exponent ? std::ldexp(1 + fraction, exponent - bias) : std::ldexp(fraction, 1 - bias));
  }
  return all;
}

struct Format {
  int bits, group;
  std::vector<double> magnitudes;
  bool nv = false;
};

Format format_of(BlockFormat format) {
  switch (format) {
    case mxfp8_e4m3: return {8, 32, numbers(4, 3, 127)};
    case mxfp8_e5m2: return {8, 32, numbers(5, 2, 124)};
    case mxfp6_e2m3: return {6, 32, numbers(2, 3, 32)};
    case mxfp6_e3m2: return {6, 32, numbers(3, 2, 32)};
    case mxfp4: return {4, 32, {0, 0.5, 1, 1.5, 2, 3, 4, 6}};
    default: return {4, 16, {0, 0.5, 1, 1.5, 2, 3, 4, 6}, true};
  }
}

// The nearest of them, of two the one with even bits; what is beyond the last is the last.
unsigned nearest(const std::vector<double>& all, double x) {
  const auto above = std::lower_bound(all.begin(), all.end(), x);
  if (above == all.end()) return static_cast<unsigned>(all.size() - 1);
  const auto code = static_cast<unsigned>(above - all.begin());
  if (code == 0 || *above == x) return code;
  const double to_above = *above - x, to_below = x - all[code - 1];
  return to_above < to_below || (to_above == to_below && code % 2 == 0) ? code : code - 1;
}

const std::vector<double>& nv_scales() {
  static const std::vector<double> all = numbers(4, 3, 127);
  return all;
}
double scale_value(const Format& f, unsigned code) { return f.nv ? nv_scales()[code] : std::ldexp(1, int(code) - 127); }

unsigned scale_for(const Format& f, double largest) {
  if (f.nv) return nearest(nv_scales(), double(float(largest) / 6.f));
  unsigned code = 0;
  while (code < 254 && largest > f.magnitudes.back() * scale_value(f, code)) ++code;
  return code;
}

// Where the scale of a row and a group lies: 512 bytes for 128 rows and four groups (the sheet's formula).
std::size_t scale_at(std::int64_t row, std::int64_t group, std::int64_t blocks) {
  return std::size_t((row / 128 * blocks + group / 4) * 512 + row % 32 * 16 + row % 128 / 32 * 4 + group % 4);
}

struct Case {
  std::int64_t m = 0, n = 0, k = 0;
  BlockFormat a = mxfp8_e4m3, b = mxfp8_e4m3;
  DType source = f32, d = bf16;
  bool source_columns = false, d_columns = false, epilogue = false;
  Major a_major = Major::k, b_major = Major::k;
  std::int64_t d_padding = 0;
  std::string plan{};
  std::uint64_t seed = 1;

  std::string words() const {
    const auto turned = [](Major major) { return major == Major::mn ? " (mn)" : ""; };
    return fmt::format("{}x{}x{} {}{} of {} times {}{} to {}{}, padding {}, plan '{}', seed {}{}", m, n, k, name_of(a),
                       turned(a_major), name_of(source), name_of(b), turned(b_major), name_of(d),
                       d_columns ? " in columns" : "", d_padding, plan, seed, epilogue ? ", epilogue" : "");
  }
};

// A random matrix, and what quantize makes of it.
struct Quantized {
  Quantized(const Stream& stream, const Case& c, BlockFormat format, Major major, std::int64_t rows, std::uint64_t seed)
      : format(format), major(major), rows(rows), k(c.k), f(format_of(format)), matrix(make(stream, c, seed)) {}

  BlockScaledMatrix make(const Stream& stream, const Case& c, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::normal_distribution<double> normal;
    const std::size_t bytes = size_of(c.source);
    std::vector<std::byte> stored(std::size_t(rows * k) * bytes);
    source.resize(std::size_t(rows * k));
    for (std::int64_t row = 0; row < rows; ++row)
      for (std::int64_t i = 0; i < k; ++i) {
        // Groups of very different size, zeros among them.
        const double size = random() % 16 == 0 ? 0 : std::ldexp(1, int((row + i / 32) % 7) - 3);
        const std::size_t at = std::size_t(c.source_columns ? i * rows + row : row * k + i) * bytes;
        store_element(c.source, &stored[at], normal(random) * size);
        source[std::size_t(row * k + i)] = load_element(c.source, &stored[at]);
      }
    Buffer buffer(stream.device(), stored.size());
    buffer.upload(stored);
    const std::vector<std::int64_t> strides =
        c.source_columns ? std::vector<std::int64_t>{1, rows} : std::vector{k, std::int64_t{1}};
    BlockScaledMatrix made = quantize(stream, buffer.view(c.source, {rows, k}, strides), format, major);
    stream.synchronize();
    return made;
  }

  // Every bit, padding too; `values` becomes what the matrix stands for.
  void expect_right() {
    const auto data = matrix.data.download<std::uint8_t>(), scales = matrix.scales.download<std::uint8_t>();
    const std::int64_t grain = f.bits == 4 ? 256 : 128, padded = (k + grain - 1) / grain * grain,
                       pitch = padded * f.bits / 8, blocks = padded / f.group / 4;
    const bool turned = major == Major::mn;  // a line of all rows for each k
    const std::int64_t line = (rows + 15) / 16 * 16;
    ASSERT_EQ(std::int64_t(data.size()), turned ? k * line : rows * pitch);
    ASSERT_EQ(std::int64_t(scales.size()), (rows + 255) / 256 * 2 * blocks * 512);
    values.assign(std::size_t(rows * k), 0);
    for (std::int64_t row = 0; row < rows; ++row)
      for (std::int64_t group = 0; group < padded / f.group; ++group) {
        double largest = 0;
        for (std::int64_t i = group * f.group; i < std::min(k, (group + 1) * f.group); ++i)
          largest = std::max(largest, std::abs(source[std::size_t(row * k + i)]));
        const unsigned scale = scale_for(f, largest);
        ASSERT_EQ(scales[scale_at(row, group, blocks)], scale) << "row " << row << " group " << group;
        for (std::int64_t i = group * f.group;
             i < (turned ? std::min(k, (group + 1) * f.group) : (group + 1) * f.group); ++i) {
          unsigned bits = turned ? data[std::size_t(i * line + row)] : 0;
          for (int bit = 0; bit < f.bits && !turned; ++bit) {
            const std::int64_t at = i * f.bits + bit;
            bits |= unsigned(data[std::size_t(row * pitch + at / 8)] >> at % 8 & 1) << bit;
          }
          const double x = i < k ? source[std::size_t(row * k + i)] : 0;
          const double factor = scale_value(f, scale);
          const double quotient = factor == 0 ? 0 : f.nv ? double(float(x) / float(factor)) : x / factor;
          const unsigned code = nearest(f.magnitudes, std::abs(quotient)), sign = std::signbit(quotient);
          ASSERT_EQ(bits, sign << (f.bits - 1) | code) << "row " << row << " element " << i << ": " << x;
          if (i < k) values[std::size_t(row * k + i)] = (sign ? -1 : 1) * f.magnitudes[code] * factor;
        }
      }
    const std::vector<float> own = numbers_of(matrix);
    for (std::size_t i = 0; i < own.size(); ++i) ASSERT_EQ(double(own[i]), values[i]);
  }

  BlockFormat format;
  Major major;
  std::int64_t rows, k;
  Format f;
  std::vector<double> source, values;
  BlockScaledMatrix matrix;
};

struct Product {
  Product(const Stream& stream, const Case& c)
      : c(c),
        a(stream, c, c.a, c.a_major, c.m, c.seed),
        b(stream, c, c.b, c.b_major, c.n, c.seed + 1),
        d(stream.device(), d_bytes()) {
    const auto floats = [&](std::int64_t count, Buffer& to) {
      std::vector<float> x(static_cast<std::size_t>(count));
      for (std::size_t i = 0; i < x.size(); ++i) x[i] = float(int(i * 7 % 11) - 5) / 4;
      to.upload(std::as_bytes(std::span(x)));
      return x;
    };
    if (c.epilogue) {
      bias = floats(c.n, bias_buffer.emplace(stream.device(), std::size_t(c.n) * 4));
      residual = floats(c.m * c.n, residual_buffer.emplace(stream.device(), std::size_t(c.m * c.n) * 4));
    }
    poison();
  }
  std::int64_t pitch() const { return (c.d_columns ? c.m : c.n) + c.d_padding; }
  std::size_t d_bytes() const { return std::size_t(pitch() * (c.d_columns ? c.n : c.m)) * size_of(c.d); }
  void poison() { d.upload(std::vector<std::byte>(d_bytes(), std::byte{0xff})); }
  BlockScaledGemmRequest request() const {
    BlockScaledGemmRequest r{
        .a = a.matrix.view(),
        .b = b.matrix.view(),
        .d = d.view(c.d, {c.m, c.n},
                    c.d_columns ? std::vector<std::int64_t>{1, pitch()} : std::vector<std::int64_t>{pitch(), 1})};
    if (c.epilogue) {
      r.epilogue.alpha = 0.5f;
      r.epilogue.beta = 2;
      r.epilogue.c = residual_buffer->view(f32, {c.m, c.n});
      r.epilogue.column_bias = bias_buffer->view(f32, {c.n});
      r.epilogue.activation = Activation::relu;
    }
    if (!c.plan.empty()) r.plan = plan::plan_from_text(c.plan);
    return r;
  }
  void expect_right() {
    a.expect_right();
    b.expect_right();
    if (testing::Test::HasFatalFailure()) return;
    const auto result = d.download<std::byte>();
    const double rounding = c.d == f32 ? 0x1p-24 : c.d == f16 ? 0x1p-11 : c.d == bf16 ? 0x1p-8 : 0x1p-4;
    std::vector<bool> written(result.size());
    for (std::int64_t i = 0; i < c.m; ++i)
      for (std::int64_t j = 0; j < c.n; ++j) {
        double sum = 0, size = 0;
        for (std::int64_t x = 0; x < c.k; ++x) {
          const double product = a.values[std::size_t(i * c.k + x)] * b.values[std::size_t(j * c.k + x)];
          sum += product;
          size += std::abs(product);
        }
        if (c.epilogue) {
          sum = 0.5 * sum + 2.0 * residual[std::size_t(i * c.n + j)] + bias[std::size_t(j)];
          size = 0.5 * size + std::abs(2.0 * residual[std::size_t(i * c.n + j)]) + std::abs(bias[std::size_t(j)]);
          sum = std::max(sum, 0.0);
        }
        if (c.d == e4m3) sum = std::clamp(sum, -448.0, 448.0);
        const std::size_t at = std::size_t(c.d_columns ? j * pitch() + i : i * pitch() + j) * size_of(c.d);
        const double got = load_element(c.d, &result[at]);
        ASSERT_LE(std::abs(got - sum), 0x1p-19 * size + rounding * std::abs(sum) + (c.d == e4m3 ? 0x1p-10 : 0x1p-24))
            << c.words() << " at " << i << ", " << j << ": " << got << " for " << sum;
        std::fill_n(written.begin() + std::ptrdiff_t(at), size_of(c.d), true);
      }
    for (std::size_t i = 0; i < result.size(); ++i)
      ASSERT_TRUE(written[i] || result[i] == std::byte{0xff}) << c.words() << ": byte " << i << " is no element of D";
  }

  Case c;
  Quantized a, b;
  Buffer d;
  std::optional<Buffer> bias_buffer, residual_buffer;
  std::vector<float> bias, residual;
};

GemmResult check(const Stream& stream, const Case& c) {
  SCOPED_TRACE(c.words());
  Product product(stream, c);
  GemmResult result;
  try {
    result = gemm(stream, product.request());
    stream.synchronize();
  } catch (const Error& error) {
    ADD_FAILURE() << error.what();
    return result;
  }
  product.expect_right();
  return result;
}

bool has_tensor_memory(const Device& device) {
  return plan::instruction_of(device.info().arch) == TensorInstruction::tcgen05;
}
std::vector<std::pair<BlockFormat, BlockFormat>> pairs_of(const Device& device) {
  std::vector<std::pair<BlockFormat, BlockFormat>> pairs{{nvfp4, nvfp4}, {mxfp4, mxfp4}};
  for (const BlockFormat a : {mxfp8_e4m3, mxfp8_e5m2})
    for (const BlockFormat b : {mxfp8_e4m3, mxfp8_e5m2}) pairs.emplace_back(a, b);
  if (!has_tensor_memory(device)) return pairs;
  for (const BlockFormat a : {mxfp6_e2m3, mxfp6_e3m2, mxfp4})
    for (const BlockFormat b : {mxfp6_e2m3, mxfp6_e3m2, mxfp8_e4m3}) {
      pairs.emplace_back(a, b);
      if (b == mxfp8_e4m3) pairs.emplace_back(b, a);
    }
  return pairs;
}

// The instruction's word, and tiles that its plans with scales may have.
std::string random_plan(const Device& device, std::mt19937_64& random) {
  const auto below = [&](std::uint64_t limit) { return random() % limit; };
  const std::string exchange = below(3) == 0 ? " exchange" : "";
  constexpr const char* together[] = {"tcgen05", "tcgen05", "c2x1 tcgen05", "c1x2 tcgen05", "c2x1 pair", "c2x1 pair"};
  if (has_tensor_memory(device))
    return fmt::format("128x{} s{} g{} {}{}{}", 32 << below(4), 2 + below(2), 1 + below(2), together[below(6)],
                       below(3) == 0 ? " claim" : "", exchange);
  const auto groups = 1 + below(2);
  return fmt::format("{}x{} s2 g{} mma-tma{}{}", groups * 64, 32 << below(3), groups, below(3) == 0 ? " split" : "",
                     exchange);
}

}  // namespace

TEST_F(GemmBlockScaled, IsRightForEveryPairOfFormats) {
  for (const auto& [a, b] : pairs_of(device)) {
    const GemmResult result = check(stream, {.m = 136, .n = 200, .k = 296, .a = a, .b = b, .d = f32});
    EXPECT_TRUE(result.plan.kind.by_tma());
  }
}

// As many random products as GEMM_TEST_CASES says, over formats, plans, layouts, types and tails. Kernels are dear, so
// that what is compiled changes with every fifth.
TEST_F(GemmBlockScaled, IsRightForRandomScaledProducts) {
  const int cases = asked("GEMM_TEST_CASES", 20);
  std::mt19937_64 random(2026);
  const auto below = [&](std::int64_t limit) { return std::int64_t(random() % std::uint64_t(limit)); };
  const auto pairs = pairs_of(device);
  Case c;
  for (int i = 0; i < cases; ++i) {
    if (i % 5 == 0) {
      c = {};
      std::tie(c.a, c.b) = pairs[std::size_t(below(std::int64_t(pairs.size())))];
      const DType of[] = {f32, bf16, f16, e4m3};
      c.source = of[below(3)];
      c.d = of[below(4)];
      c.d_columns = below(3) == 0;
      c.epilogue = below(2) == 0;
      if (below(3) > 0) c.plan = random_plan(device, random);
      const auto major = [&](BlockFormat format) {
        const bool turned = has_tensor_memory(device) && format_of(format).bits == 8 && below(2) == 0;
        return turned ? Major::mn : Major::k;
      };
      c.a_major = major(c.a), c.b_major = major(c.b);
    }
    const std::int64_t longest[] = {20, 140, 140, 300};
    c.m = 1 + below(longest[below(4)]), c.n = 1 + below(longest[below(4)]), c.k = 1 + below(2 * longest[below(4)]);
    c.source_columns = below(3) == 0;
    c.d_padding = below(2) == 0 ? 0 : below(20);
    c.seed = random();
    check(stream, c);
    if (HasFatalFailure()) return;
  }
  RecordProperty("cases", cases);
}

// Blocks of a cluster that share operands, and two that multiply together: each has the scales of its own rows of A and
// of all of B.
TEST_F(GemmBlockScaled, IsRightInClustersAndPairs) {
  if (!has_tensor_memory(device)) {
    Product product(stream, {.m = 64, .n = 64, .k = 64, .plan = "64x64 s2 c2x1 mma-tma"});
    EXPECT_THROW(gemm(stream, product.request()), Error);
    return;
  }
  struct Together {
    const char* plan;
    BlockFormat a, b;
  };
  for (const Together& t : {Together{"128x256 s2 c2x1 pair", nvfp4, nvfp4},
                            {"128x128 s3 g2 c2x1 pair claim", mxfp4, mxfp4},
                            {"128x256 s2 c2x1 pair", mxfp8_e5m2, mxfp6_e3m2},
                            {"128x64 s2 c2x1 pair exchange", mxfp8_e4m3, mxfp4},
                            {"128x128 s2 c2x1 tcgen05", nvfp4, nvfp4},
                            {"128x256 s2 c1x2 tcgen05", mxfp6_e2m3, mxfp8_e4m3}}) {
    const GemmResult result = check(stream, {.m = 300, .n = 296, .k = 530, .a = t.a, .b = t.b, .plan = t.plan});
    EXPECT_EQ(result.plan.cluster_size(), 2) << t.plan;
    check(stream, {.m = 100, .n = 120, .k = 40, .a = t.a, .b = t.b, .plan = t.plan});  // a block with nothing to do
  }
}

// 8-bit elements may lie along m or n: the tensor cores read them so, in clusters and pairs too.
TEST_F(GemmBlockScaled, TakesMxfp8AlongItsRows) {
  const auto turned = [&](Major a, Major b, BlockFormat of_b, const char* plan) {
    return Case{.m = 200, .n = 296, .k = 300, .b = of_b, .a_major = a, .b_major = b, .plan = plan};
  };
  if (!has_tensor_memory(device)) {
    Product product(stream, turned(Major::mn, Major::k, mxfp8_e4m3, ""));
    EXPECT_THROW(gemm(stream, product.request()), Error);
    return;
  }
  check(stream, turned(Major::mn, Major::mn, mxfp8_e5m2, ""));
  check(stream, turned(Major::mn, Major::k, mxfp6_e3m2, "128x64 s2 g1 tcgen05"));
  check(stream, turned(Major::k, Major::mn, mxfp8_e4m3, "128x64 s2 g1 tcgen05 exchange"));
  check(stream, turned(Major::mn, Major::mn, mxfp8_e4m3, "128x256 s2 c2x1 pair"));
  check(stream, turned(Major::mn, Major::mn, mxfp8_e4m3, "128x128 s2 c1x2 tcgen05"));
  const Buffer numbers(device, 4096);
  for (const BlockFormat format : {mxfp6_e2m3, mxfp4, nvfp4})
    EXPECT_THROW(quantize(stream, numbers.view(f32, {16, 64}), format, Major::mn), Error);
}

TEST_F(GemmBlockScaled, GivesTheSameBitsInEveryModeAndTheJudgeIsSilent) {
  const bool tensor_memory = has_tensor_memory(device);
  const std::string words = tensor_memory ? "128x64 s3 g1 tcgen05" : "64x64 s2 g1 mma-tma";
  for (const Case& c : {Case{.m = 200, .n = 136, .k = 520, .a = nvfp4, .b = nvfp4, .plan = words},
                        Case{.m = 200, .n = 136, .k = 600, .a = mxfp4, .b = mxfp4, .plan = words},
                        Case{.m = 200,
                        .n = 264,
                        .k = 300,
                        .b_major = tensor_memory ? Major::mn : Major::k,
                        .plan = tensor_memory ? "128x256 s2 c2x1 pair" : words},
                        Case{.m = 136,
                        .n = 72,
                        .k = 300,
                        .a = tensor_memory ? mxfp6_e3m2 : mxfp8_e5m2,
                        .b = tensor_memory ? mxfp4 : mxfp8_e4m3,
                        .epilogue = true,
                        .plan = words}}) {
    SCOPED_TRACE(c.words());
    Product product(stream, c);
    const auto result = [&] {
      product.poison();
      gemm(stream, product.request());
      stream.synchronize();
      return product.d.download<std::byte>();
    };
    const std::vector<std::byte> first = result();
    product.expect_right();
    in_every_schedule(device, std::uint64_t(asked("GEMM_TEST_SEEDS", 1)), [&] { EXPECT_TRUE(result() == first); });
  }
}

TEST_F(GemmBlockScaled, RefusesInWordsWhatItDoesNotHave) {
  const auto refusal = [&](const Product& product, auto&& change) -> std::string {
    BlockScaledGemmRequest request = product.request();
    change(request);
    try {
      gemm(stream, request);
    } catch (const Error& error) {
      return error.what();
    }
    return "served";
  };
  const Product product(stream, {.m = 64, .n = 64, .k = 64, .a = mxfp4, .b = mxfp4});
  const auto expect = [&](const char* words, auto&& change) {
    EXPECT_NE(refusal(product, change).find(words), std::string::npos) << refusal(product, change);
  };
  expect("nvfp4 is multiplied by nvfp4", [](auto& r) { r.a.format = nvfp4; });
  expect("multiple of 32 bytes", [](auto& r) { r.b.data += 16; });
  expect("multiple of 16 bytes", [](auto& r) { r.a.scales += 8; });
  expect("the shapes do not fit", [](auto& r) { r.b.k = 32; });
  expect("whole blocks of 128 rows", [&](auto& r) {
    r.plan = plan::plan_from_text(has_tensor_memory(device) ? "128x96 s2 g1 tcgen05" : "64x96 s2 g1 mma-tma");
  });
  if (!has_tensor_memory(device))
    expect("mma-tma plans multiply mxfp8 by mxfp8", [](auto& r) { r.a.format = mxfp6_e2m3; });
  EXPECT_THROW(block_format_from_name("fp3"), Error);
  const Device hopper = Device::open("virtual:sm_90a:sms=1");
  const Buffer buffer(hopper, 4096);
  EXPECT_THROW(quantize(Stream(hopper), buffer.view(f32, {16, 64}), nvfp4), Error);
}

}  // namespace wm::test
