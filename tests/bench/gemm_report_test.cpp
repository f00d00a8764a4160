// The benchmark's tables: means, what counts in them, and pictures of several types.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "gemm/gemm_bench.hpp"

using namespace wm;
using namespace wm::bench;
using testing::HasSubstr;
using testing::Not;

namespace {

GemmRow row(Shape shape, double ratio, bool chosen = true) {
  return {.shape = shape,
          .plan = {},
          .band = 4,
          .path = "copy engine",
          .chosen = chosen,
          .ours_us = 10,
          .peer_us = 10 * ratio,
          .ratio = ratio,
          .ratio_low = ratio,
          .ratio_high = ratio};
}

std::vector<GemmTable> tables() {
  const auto fp8 = [](std::int64_t m) { return Shape{m, 1000, 1000, DType::e4m3, DType::bf16}; };
  return {{"Chip",
           "Peer 1.0",
           DType::bf16,
           DType::bf16,
           {row({4096, 1000, 1000}, 0.9), row({256, 1000, 1000}, 1.6), row({64, 1000, 1000}, 1.2),
            row({64, 1000, 1000}, 0.1, false)}},
          {"Chip", "Peer 1.0", DType::e4m3, DType::bf16, {row(fp8(128), 1.1), row(fp8(1000), 0)}}};
}

}  // namespace

TEST(GemmReport, AveragesWhatTheLibraryTakesAndThePeerServes) {
  const auto json = nlohmann::json::parse(to_json(tables()));
  ASSERT_EQ(json.size(), 2u);
  EXPECT_NEAR(json[0]["geometric_mean"].get<double>(), std::cbrt(0.9 * 1.6 * 1.2), 1e-9);
  EXPECT_NEAR(json[0]["geometric_mean_many_rows"].get<double>(), std::sqrt(0.9 * 1.6), 1e-9);
  EXPECT_NEAR(json[0]["geometric_mean_few_rows"].get<double>(), 1.2, 1e-9);
  EXPECT_EQ(json[0]["lowest_ratio"], 0.9);
  EXPECT_EQ(json[0]["fifth_percentile"], 0.9);
  EXPECT_NEAR(json[1]["geometric_mean"].get<double>(), 1.1, 1e-9);
  EXPECT_EQ(json[1]["dtype"], "e4m3");
  EXPECT_EQ(json[1]["rows"].size(), 2u);
}

TEST(GemmReport, TellsBytesASecondOfFewRowsAndWhatThePeerDoesNotServe) {
  const std::string text = to_text(tables());
  EXPECT_THAT(text, HasSubstr("Chip, e4m3 to bf16 against Peer 1.0"));
  EXPECT_THAT(text, HasSubstr("| 64 x 1000 x 1000 | 128x256 s4 c2x1 | 4 | copy engine | 10.0 | 13 | 0.23 |"));
  EXPECT_THAT(text, HasSubstr("| 4096 x 1000 x 1000 | 128x256 s4 c2x1 | 4 | copy engine | 10.0 | 819 |  |"));
  EXPECT_THAT(text, HasSubstr("does not serve it"));
  EXPECT_THAT(text, HasSubstr("the lowest 0.900, 4096 x 1000 x 1000"));
  auto promoted = tables();
  promoted[1].promote = true;
  EXPECT_THAT(to_text(promoted), HasSubstr("Chip, e4m3 to bf16 with promoted sums against Peer 1.0"));
}

TEST(RandomShapes, AreThoseOfTheirSeedWithinTheirBounds) {
  const auto shapes = random_shapes(300, 7, false, DType::bf16);
  const auto same = [](const Shape& a, const Shape& b) { return a.m == b.m && a.n == b.n && a.k == b.k; };
  EXPECT_TRUE(std::equal(shapes.begin(), shapes.end(), random_shapes(300, 7, false, DType::bf16).begin(), same));
  EXPECT_FALSE(std::equal(shapes.begin(), shapes.end(), random_shapes(300, 8, false, DType::bf16).begin(), same));
  std::int64_t few = 0;
  for (const Shape& s : shapes) {
    EXPECT_TRUE(s.m >= 1 && s.m <= 16384 && s.n >= 64 && s.n <= 32768 && s.k >= 64 && s.k <= 32768);
    EXPECT_TRUE((s.m < 16 || s.m % 16 == 0) && s.n % 16 == 0 && s.k % 16 == 0);
    EXPECT_LE(s.bytes(), 4e9);
    few += s.m <= 128;
  }
  EXPECT_NEAR(static_cast<double>(few) / 300, 0.5, 0.12) << "sizes are drawn by their logarithms";
  std::int64_t odd = 0;
  for (const Shape& s : random_shapes(300, 7, true, DType::bf16)) odd += s.k % 16 != 0;
  EXPECT_GT(odd, 200);
}

TEST(GemmReport, DrawsSeveralTypesInOnePicture) {
  const std::string svg = to_svg(tables());
  EXPECT_THAT(svg, HasSubstr(">bf16 GEMM on Chip"));
  EXPECT_THAT(svg, HasSubstr(">e4m3 to bf16 GEMM on Chip"));
  EXPECT_THAT(svg, HasSubstr("1.60  (51 TFLOP/s)"));
  EXPECT_THAT(svg, HasSubstr("1.20  (0.23 TB/s)"));
  EXPECT_THAT(svg, Not(HasSubstr(">1000 x 1000 x 1000<")));  // no bar without a ratio
  EXPECT_EQ(svg.find("<svg"), svg.rfind("<svg"));
}
