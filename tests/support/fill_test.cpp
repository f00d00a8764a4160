// Fills: right values, the same on every machine, in dense and strided memory.
#include "case/fill.hpp"

#include <cmath>
#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/refusal.hpp"

using namespace wm;
using namespace wm::cases;
using testing::ElementsAre;

namespace {

template <class T>
std::vector<T> filled(const Fill& fill, std::vector<std::int64_t> shape) {
  const auto bytes = fill_elements(fill, make_layout(dtype_of<T>, std::move(shape)));
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

}  // namespace

TEST(Fill, PoisonIsNaNOrAPatternNobodyMeans) {
  for (DType dtype : {DType::f16, DType::bf16, DType::f32, DType::tf32, DType::f64, DType::e4m3, DType::e5m2}) {
    const auto bytes = fill_elements(Poison{}, make_layout(dtype, {1}));
    EXPECT_TRUE(std::isnan(load_element(dtype, bytes.data()))) << name_of(dtype);
  }
  EXPECT_THAT(filled<std::uint16_t>(Poison{}, {2}), ElementsAre(0xa5a5, 0xa5a5));
}

TEST(Fill, IotaCountsInRowMajorOrderAndIntegersWrap) {
  EXPECT_THAT(filled<float>(Iota{.start = 0.5, .step = 2}, {2, 2}), ElementsAre(0.5, 2.5, 4.5, 6.5));
  EXPECT_THAT(filled<std::int32_t>(Iota{.whole_start = -1, .whole_step = 3, .modulo = 2}, {4}),
              ElementsAre(-1, 2, -1, 2));
  EXPECT_EQ(filled<std::uint8_t>(Iota{}, {300})[299], 299 - 256);
  EXPECT_EQ(filled<std::int64_t>(Iota{.whole_start = (1ll << 53) + 1}, {1})[0], (1ll << 53) + 1);
}

// The exact values: a change of them silently changes every case file's data.
TEST(Fill, RandomNumbersAreTheSameEverywhere) {
  const auto normal = filled<double>(Normal{.seed = 1}, {3});
  const auto uniform = filled<double>(Uniform{.seed = 1}, {3});
  EXPECT_THAT(normal, ElementsAre(-0x1.44b6e7faf4a5ep-3, 0x1.2fda724f92171p-1, -0x1.680fdd1e792d3p-1));
  EXPECT_THAT(uniform, ElementsAre(0x1.7906ac21d0e58p-2, 0x1.e31ad9d27ad9ep-1, 0x1.72becda64fd10p-5));
}

TEST(Fill, NormalNumbersAreNormal) {
  const auto values = filled<double>(Normal{.seed = 7, .mean = 3, .deviation = 2}, {1000, 200});
  double sum = 0, squares = 0, fourth = 0;
  for (double value : values) sum += value;
  const double mean = sum / values.size();
  for (double value : values) {
    const double square = (value - mean) * (value - mean);
    squares += square;
    fourth += square * square;
  }
  const double variance = squares / values.size();
  EXPECT_NEAR(mean, 3, 0.02);
  EXPECT_NEAR(variance, 4, 0.05);
  EXPECT_NEAR(fourth / values.size() / (variance * variance), 3, 0.1);  // the kurtosis of a normal distribution
}

TEST(Fill, UniformNumbersStayInTheirRangeAndReachItsEnds) {
  for (double value : filled<double>(Uniform{.seed = 2, .low = -1, .high = 3}, {10000})) {
    EXPECT_GE(value, -1);
    EXPECT_LT(value, 3);
  }
  int counts[5] = {};
  for (std::int8_t value : filled<std::int8_t>(Uniform{.seed = 2, .whole_low = -2, .whole_high = 2}, {10000})) {
    ASSERT_GE(value, -2);
    ASSERT_LE(value, 2);
    ++counts[value + 2];
  }
  for (int count : counts) EXPECT_NEAR(count, 2000, 200);
}

TEST(Fill, SeedsAndIndicesGiveDifferentNumbers) {
  EXPECT_NE(filled<double>(Normal{.seed = 1}, {8}), filled<double>(Normal{.seed = 2}, {8}));
  const auto values = filled<double>(Normal{.seed = 1}, {8});
  EXPECT_EQ(filled<double>(Normal{.seed = 1}, {4, 2}), values);  // the shape does not matter
  EXPECT_NE(values[0], values[1]);
}

TEST(Layout, StridedElementsGoToTheirPlacesAndBack) {
  const Layout layout = make_layout(DType::u8, {2, 3}, {8, 2});
  EXPECT_EQ(layout.bytes, 13u);
  const std::byte elements[] = {std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}, std::byte{5}, std::byte{6}};
  const auto memory = to_memory(layout, elements);
  EXPECT_EQ(memory[0], std::byte{1});
  EXPECT_EQ(memory[1], std::byte{0xa5});
  EXPECT_EQ(memory[2], std::byte{2});
  EXPECT_EQ(memory[8], std::byte{4});
  EXPECT_EQ(memory[12], std::byte{6});
  const auto back = from_memory(layout, memory);
  EXPECT_TRUE(std::equal(back.begin(), back.end(), std::begin(elements), std::end(elements)));
}

TEST(Layout, ZeroSizesAndScalars) {
  EXPECT_EQ(make_layout(DType::f32, {4, 0}).bytes, 0u);
  EXPECT_EQ(make_layout(DType::f32, {}).bytes, 4u);
  EXPECT_TRUE(to_memory(make_layout(DType::f32, {0, 3}, {7, 2}), {}).empty());
}

TEST(Layout, SizesThatOverflowAreRefused) {
  const std::int64_t large = std::int64_t{1} << 40;
  for (const auto& shape : {std::vector<std::int64_t>{large, large}, {large, large, large}, {0, large, large}})
    EXPECT_NE(refusal([&] { make_layout(DType::f64, shape); }), "(not refused)");
  EXPECT_NE(refusal([&] { make_layout(DType::f64, {3}, {std::int64_t{1} << 62}); }), "(not refused)");
  // Their memory is one element, but all of them are written out.
  EXPECT_NE(refusal([&] { make_layout(DType::f64, {(std::int64_t{1} << 61) + 2}, {0}); }), "(not refused)");
}

TEST(Layout, CoordinatesAreOutermostFirst) {
  EXPECT_THAT(coordinates(make_layout(DType::u8, {2, 3, 4}), 17), ElementsAre(1, 1, 1));
}
