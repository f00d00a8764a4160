// The GEMM call. Built twice: on a virtual device with few multiprocessors, so that small products already take several
// waves, and (gpu_gemm) on the chip with more shapes.
#include "warpmill/gemm.hpp"

#include <cmath>
#include <cstring>
#include <random>

#include <gtest/gtest.h>

#include "warpmill/error.hpp"

using namespace wm;

namespace {

Device test_device() { return Device::open(GEMM_TEST_DEVICE); }
constexpr int random_shapes = GEMM_TEST_SHAPES;

constexpr std::uint16_t poison = 0x7fa5;  // a NaN no product gives

// A product with padded rows: what lies behind each row of D must stay as it was.
struct Problem {
  std::int64_t m, n, k;
  std::int64_t a_stride, b_stride, d_stride;
  std::vector<bf16> a, b;
  Problem(std::int64_t m, std::int64_t n, std::int64_t k, std::uint64_t seed, std::int64_t padding = 0)
      : m(m), n(n), k(k), a_stride(padded(k, padding)), b_stride(padded(k, padding)), d_stride(padded(n, padding)) {
    std::mt19937_64 random(seed);
    std::normal_distribution<float> normal;
    for (auto* operand : {&a, &b}) {
      operand->resize(static_cast<std::size_t>((operand == &a ? m : n) * a_stride));
      for (bf16& value : *operand) value = bf16(normal(random));
    }
  }
  static std::int64_t padded(std::int64_t size, std::int64_t padding) { return (size + 7) / 8 * 8 + padding; }
};

struct OnDevice {
  Buffer a, b, d;
  OnDevice(const Device& device, const Problem& p)
      : a(Buffer::of<bf16>(device, p.a)),
        b(Buffer::of<bf16>(device, p.b)),
        d(device, static_cast<std::size_t>(p.m * p.d_stride) * 2) {
    clear(p);
  }
  void clear(const Problem& p) {
    std::vector<std::uint16_t> filled(static_cast<std::size_t>(p.m * p.d_stride), poison);
    d.upload(std::as_bytes(std::span(filled)));
  }
  GemmRequest request(const Problem& p, std::optional<GemmPlan> plan = {}) const {
    return {.a = a.view<bf16>({p.m, p.k}, {p.a_stride, 1}),
            .b = b.view<bf16>({p.k, p.n}, {1, p.b_stride}),
            .d = d.view<bf16>({p.m, p.n}, {p.d_stride, 1}),
            .plan = plan};
  }
};

// Every element against float64, within rounding to bf16 and fp32 sums; every byte beside D untouched.
void expect_product(const Problem& p, const std::vector<bf16>& d) {
  int wrong = 0;
  for (std::int64_t i = 0; i < p.m && wrong < 5; ++i) {
    for (std::int64_t j = 0; j < p.n && wrong < 5; ++j) {
      double sum = 0, magnitude = 0;
      for (std::int64_t k = 0; k < p.k; ++k) {
        const double product = double(float(p.a[i * p.a_stride + k])) * double(float(p.b[j * p.b_stride + k]));
        sum += product;
        magnitude += std::fabs(product);
      }
      const double got = float(d[i * p.d_stride + j]);
      if (!(std::fabs(got - sum) <= std::fabs(sum) / 256 + magnitude * 0x1p-20)) {
        ADD_FAILURE() << p.m << "x" << p.n << "x" << p.k << " at (" << i << ", " << j << "): " << got << " instead of "
                      << sum;
        ++wrong;
      }
    }
    for (std::int64_t j = p.n; j < p.d_stride; ++j)
      if (d[i * p.d_stride + j].bits != poison) {
        ADD_FAILURE() << p.m << "x" << p.n << "x" << p.k << ": row " << i << " was written past its end, at " << j;
        ++wrong;
        break;
      }
  }
}

void check(const Device& device, const Problem& p, std::optional<GemmPlan> plan = {}) {
  const Stream stream(device);
  const OnDevice on(device, p);
  gemm(stream, on.request(p, plan));
  stream.synchronize();
  expect_product(p, on.d.download<bf16>());
}

std::string refusal(const Stream& stream, const GemmRequest& request) {
  try {
    gemm(stream, request);
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace

TEST(Gemm, IsRightOnShapesWithSeveralTilesWavesAndTails) {
  const Device device = test_device();
  std::mt19937 random(11);
  const auto size = [&](int most) { return std::int64_t(1 + random() % most); };
  for (int i = 0; i < random_shapes; ++i) {
    const Problem p(size(700), size(700), size(300), 100 + i, i % 3 == 0 ? 8 * (random() % 3) : 0);
    check(device, p);
  }
}

TEST(Gemm, IsRightWithEachKindOfPlan) {
  const Device device = test_device();
  for (const GemmPlan& plan : {GemmPlan{.tile = {128, 256}, .stages = 4, .cluster = {2, 1}},
                               GemmPlan{.tile = {128, 224}, .stages = 4, .cluster = {1, 2}},
                               GemmPlan{.tile = {256, 128}, .stages = 4, .cluster = {2, 1}},
                               GemmPlan{.tile = {128, 112}, .stages = 3, .cluster = {2, 1}},
                               GemmPlan{.tile = {128, 32}, .stages = 8, .cluster = {1, 1}},
                               GemmPlan{.tile = {128, 64}, .stages = 2, .cluster = {2, 2}}})
    check(device, Problem(515, 531, 200, 5), plan);
}

TEST(Gemm, IsRightOverSeveralWavesOfTheWholeDevice) {
  const Device device = test_device();
  for (const auto& [m, n, k, tile_n] : std::vector<std::array<std::int64_t, 4>>{GEMM_TEST_WAVES})
    check(device, Problem(m, n, k, 21, 8), GemmPlan{.tile = {128, int(tile_n)}}.with_most_stages());
}

TEST(Gemm, HandlesOnesAndZeros) {
  const Device device = test_device();
  for (const auto& [m, n, k] : {std::array<std::int64_t, 3>{1, 1, 1},
                                {1, 300, 70},
                                {300, 1, 70},
                                {5, 9, 1},
                                {64, 8, 0},
                                {0, 8, 8},
                                {8, 0, 8}}) {
    const Stream stream(device);
    const Problem p(m, n, k, 3, 8 * (m % 3));
    const OnDevice on(device, p);
    gemm(stream, on.request(p));
    stream.synchronize();
    expect_product(p, on.d.download<bf16>());
  }
}

TEST(Gemm, TakesOperandsThatLieSideBySideInOneBuffer) {
  const Device device = test_device();
  const Stream stream(device);
  const Problem p(64, 64, 64, 4, 64);  // rows of 128 elements: A is the first half of them, D goes into the second
  const OnDevice on(device, p);
  const Buffer both = Buffer::of<bf16>(device, p.a);
  GemmRequest request = on.request(p);
  request.a = both.view<bf16>({64, 64}, {128, 1});
  request.d = View(device, both.address() + 128, DType::bf16, {64, 64}, {128, 1});
  gemm(stream, request);
  stream.synchronize();
  const std::vector<bf16> result = both.download<bf16>();
  std::vector<bf16> d(64 * 128, bf16::from_bits(poison));
  for (int i = 0; i < 64; ++i) std::copy_n(&result[i * 128 + 64], 64, &d[i * 128]);
  expect_product(p, d);
  request.d = View(device, both.address() + 64, DType::bf16, {64, 64}, {128, 1});
  EXPECT_NE(refusal(stream, request).find("overlaps"), std::string::npos);
}

TEST(Gemm, GivesTheSameBitsEveryTime) {
  const Device device = test_device();
  const Stream stream(device);
  const Problem p(300, 270, 150, 9);
  OnDevice on(device, p);
  std::vector<bf16> first;
  for (int run = 0; run < 20; ++run) {
    on.clear(p);
    gemm(stream, on.request(p));
    stream.synchronize();
    const auto result = on.d.download<bf16>();
    if (run == 0)
      first = result;
    else
      ASSERT_EQ(0, std::memcmp(first.data(), result.data(), result.size() * sizeof(bf16))) << "run " << run;
  }
}

TEST(Gemm, RefusesInWordsBeforeAnythingIsLaunched) {
  const Device device = test_device();
  const Stream stream(device);
  const Problem p(64, 64, 64, 1);
  const OnDevice on(device, p);
  const GemmRequest good = on.request(p);
  const auto expect = [&](const GemmRequest& request, const char* words) {
    EXPECT_NE(refusal(stream, request).find(words), std::string::npos) << refusal(stream, request);
  };
  GemmRequest bad = good;
  bad.a = on.a.view<f16>({64, 64});
  expect(bad, "a holds f16");
  bad = good;
  bad.b = on.b.view<bf16>({32, 64}, {1, 32});
  expect(bad, "shapes do not fit");
  bad = good;
  bad.b = on.b.view<bf16>({64, 64});
  expect(bad, "b is not contiguous along k");
  bad = good;
  bad.a = on.a.view<bf16>({64, 64}, {1, 64});
  expect(bad, "a is not contiguous along k");
  bad = good;
  bad.d = on.a.view<bf16>({64, 64});
  expect(bad, "overlaps");
  bad = good;
  bad.d = on.d.view<bf16>({64, 64}, {32, 1});
  expect(bad, "d's rows overlap");
  bad = good;
  bad.a = on.a.view<bf16>({4, 4, 4});
  expect(bad, "3 dimensions");
  bad = good;
  bad.plan = GemmPlan{.tile = {128, 256}, .stages = 9};
  expect(bad, "shared memory");
  bad = good;
  bad.a = View(device, on.a.address() + 2, DType::bf16, {60, 64});
  bad.d = on.d.view<bf16>({60, 64});
  expect(bad, "a: tensor map refused");
}
