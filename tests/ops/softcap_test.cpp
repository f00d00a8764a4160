// The series that softcaps are weighed by: as exact as tanh's instruction within their reach, rising everywhere, and
// beyond it wrong only where that does not count.
#include "ops/softcap.hpp"

#include <cmath>
#include <numbers>

#include <gtest/gtest.h>

namespace wm::ops {
namespace {

struct Cap {
  double cap, scale;
};
// Factors of queries from the least to the most that x may have at a product of 1.
constexpr Cap caps[] = {{20, 1 / 8.},    {20, 0.0883883}, {30, 1 / 8.},  {31.99, 1 / 16.}, {32, 1 / 16.},
                        {50, 0.0883883}, {55, 1.},        {30, -1 / 8.}, {30, 1e-9},       {30, 29.9}};

// As the kernel works it out: power_near and power of softcap.cuh.
double near(const NearCap& n, double product) {
  return product * (n.first + n.third * std::min(product * product, 1.));
}
double far(const SoftcapSeries& s, double product) {
  const double square = product * product + s.middle;
  return product * (square * square + s.rest) * s.outer;
}

}  // namespace

TEST(Softcap, HasSeriesAsExactAsTanhWithinTheirReachThatRiseBeyondIt) {
  for (const auto& [cap, scale] : caps) {
    SCOPED_TRACE(testing::Message() << "cap " << cap << ", scale " << scale);
    const SoftcapNumbers numbers = softcap_numbers(cap, scale, true);
    const double factor = numbers.near.query_factor, size = cap * std::numbers::log2e;
    EXPECT_EQ(std::log2(factor), std::floor(std::log2(factor))) << "queries are rounded by it";
    EXPECT_NEAR(numbers.inner * factor, scale / cap, 1e-6 * std::abs(scale / cap));
    double before_near = -INFINITY, before_far = -INFINITY;
    for (double x = -4; x < 4; x += 1e-3) {
      const double product = x / numbers.inner, exact = size * std::tanh(x);
      const double by_near = near(numbers.near, product), by_far = far(numbers.series, product);
      EXPECT_GT(by_near, before_near);
      EXPECT_GT(by_far, before_far);
      before_near = by_near, before_far = by_far;
      const double power = std::exp2(std::abs(exact));
      if (power <= numbers.near.most) {
        EXPECT_LE(std::abs(by_near - exact), std::exp2(-11.5) * std::abs(exact) + 1e-9);
      }
      if (power <= numbers.limits.most) {
        EXPECT_LE(std::abs(by_far - exact), std::exp2(-11.6) * std::abs(exact) + 1e-9);
      }
    }
  }
}

// What the short series makes of scores below its reach: each counts for less than 2^-13 of a key's part of the sum
// that it is taken with.
TEST(Softcap, TakesTheShortSeriesWhereScoresThatAreTooSmallForItDoNotCount) {
  for (const auto& [cap, scale] : caps) {
    SCOPED_TRACE(testing::Message() << "cap " << cap << ", scale " << scale);
    const SoftcapNumbers numbers = softcap_numbers(cap, scale, true);
    double worst = 0;
    for (double x = -8; x < 0; x += 1e-3)
      if (const double exact = std::exp2(cap * std::numbers::log2e * std::tanh(x)); exact * numbers.near.most < 1)
        worst = std::max(worst, std::abs(std::exp2(near(numbers.near, x / numbers.inner)) - exact));
    EXPECT_LT(worst, 0x1p-13 * numbers.near.least_of_key);
    EXPECT_GT(worst, 0x1p-16 * numbers.near.least_of_key) << "rows wait no longer for it than they must";
    // So 70 keys with scores of 0 are enough for 1,000 keys under a cap of 20, for 40,000 under one of 30.
    EXPECT_LT((cap < 30 ? 1000 : 40'000) * numbers.near.least_of_key, 70);
  }
}

TEST(Softcap, LeavesQueriesAsTheyAreWhereAFactorWouldLeaveThemNoRoom) {
  for (const double scale : {0., 1e-30, 30 * 0x1p-62, 30., 1e12}) {
    const SoftcapNumbers numbers = softcap_numbers(30, scale, true);
    EXPECT_EQ(numbers.near.query_factor, 1);
    EXPECT_EQ(numbers.near.least_of_key, INFINITY) << "no row takes the short series";
    EXPECT_EQ(numbers.inner, static_cast<float>(scale / 30));
  }
  EXPECT_EQ(softcap_numbers(30, 0.125, false).inner, 0.125f / 30) << "only where powers have no base";
}

}  // namespace wm::ops
