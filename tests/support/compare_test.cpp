// Comparisons: what counts as equal.
#include "case/compare.hpp"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace wm;
using namespace wm::cases;

namespace {

template <class A, class B>
Comparison compared(const std::vector<A>& result, const std::vector<B>& expected, const Tolerance& tolerance = {}) {
  return compare(make_layout(dtype_of<A>, {static_cast<std::int64_t>(result.size())}), std::as_bytes(std::span(result)),
                 dtype_of<B>, std::as_bytes(std::span(expected)), tolerance);
}
Comparison floats(const std::vector<float>& result, const std::vector<float>& expected,
                  const Tolerance& tolerance = {}) {
  return compared(result, expected, tolerance);
}
template <class T>
using Some = std::vector<T>;
const float not_a_number = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();

}  // namespace

TEST(Compare, ExactWithoutATolerance) {
  EXPECT_TRUE(floats({1, -0.f, infinity}, {1, 0.f, infinity}).holds());
  EXPECT_FALSE(floats({1}, {1.0000001f}).holds());
  EXPECT_FALSE(floats({infinity}, {-infinity}).holds());
}

TEST(Compare, ToleranceIsAbsolutePlusRelative) {
  const Tolerance tolerance{.absolute = 0.5, .relative = 0.25};
  EXPECT_TRUE(floats({-2.0f}, {-1.25f}, tolerance).holds());    // 0.75 <= 0.5 + 0.3125
  EXPECT_FALSE(floats({-2.25f}, {-1.25f}, tolerance).holds());  // 1
  EXPECT_FALSE(floats({1}, {infinity}, tolerance).holds());     // an infinite bound admits nothing
}

TEST(Compare, NaNEqualsNothingUnlessAllowed) {
  EXPECT_FALSE(floats({not_a_number}, {not_a_number}, {.absolute = 1e30}).holds());
  EXPECT_FALSE(floats({not_a_number}, {1}, {.nan_equal = true}).holds());
  EXPECT_TRUE(floats({not_a_number}, {not_a_number}, {.nan_equal = true}).holds());
}

TEST(Compare, IntegersAreExactAt64Bits) {
  const std::uint64_t top = std::numeric_limits<std::uint64_t>::max();
  EXPECT_FALSE(compared(Some<std::uint64_t>{top}, Some<std::uint64_t>{top - 1}).holds());
  EXPECT_FALSE(compared(Some<std::uint64_t>{top}, Some<std::int64_t>{-1}).holds());
  EXPECT_TRUE(compared(Some<std::uint64_t>{200}, Some<std::uint8_t>{200}).holds());
  EXPECT_TRUE(compared(Some<std::int32_t>{5}, Some<std::int32_t>{7}, {.absolute = 2}).holds());
}

TEST(Compare, SaysWhereAndHowFar) {
  const auto result = floats({1, 2, 3, 4}, {1, 2.5, 3, 8});
  EXPECT_EQ(result.mismatches, 2u);
  EXPECT_EQ(result.first[0].at, std::vector<std::int64_t>{1});
  EXPECT_EQ(result.first[0].result, "2");
  EXPECT_EQ(result.first[0].expected, "2.5");
  EXPECT_EQ(result.largest_absolute, 4);
  EXPECT_EQ(result.largest_relative, 0.5);
}

TEST(Compare, NothingEqualsNothing) { EXPECT_TRUE(floats({}, {}).holds()); }
