// Numbers in text are read whole or not at all.
#include "common/numbers.hpp"

#include <cstdint>

#include <gtest/gtest.h>

using namespace wm;

TEST(Numbers, AreTheWholeTextOrNothing) {
  EXPECT_EQ(number_from<int>("42"), 42);
  EXPECT_EQ(number_from<int>("-7"), -7);
  EXPECT_EQ(number_from<double>("179.5"), 179.5);
  for (const char* text : {"", " 42", "42 ", "+42", "42x", "x42", "4 2", "0x10", "-", "1.5"})
    EXPECT_EQ(number_from<int>(text), std::nullopt) << text;
}

TEST(Numbers, FitTheirType) {
  EXPECT_EQ(number_from<std::uint8_t>("255"), 255);
  EXPECT_EQ(number_from<std::uint8_t>("256"), std::nullopt);
  EXPECT_EQ(number_from<std::uint32_t>("-1"), std::nullopt);
  EXPECT_EQ(number_from<std::uint64_t>("18446744073709551615"), ~std::uint64_t{0});
  EXPECT_EQ(number_from<std::uint64_t>("18446744073709551616"), std::nullopt);
}
