// The images of swizzles, as the PTX manual draws them.
#include "vgpu/copy/swizzle.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

using wm::Swizzle;
using wm::vgpu::copy::pattern_of;
using wm::vgpu::copy::swizzled;

// Which 16-byte chunk of the unswizzled tile lies at each place, a row of eight after another.
std::vector<std::string> image(Swizzle swizzle, int rows) {
  std::vector<std::string> lines(rows, std::string(8, '?'));
  for (std::uint32_t address = 0; address < static_cast<std::uint32_t>(rows) * 128; address += 16) {
    const std::uint32_t to = swizzled(swizzle, address);
    EXPECT_EQ(to / 128, address / 128) << "a chunk stays in its line of 128 bytes";
    lines[to / 128][to / 16 % 8] = static_cast<char>('0' + address / 16 % 8);
  }
  return lines;
}

TEST(Swizzle, ImagesAreThoseOfTheManual) {
  EXPECT_EQ(image(Swizzle::none, 2), (std::vector<std::string>{"01234567", "01234567"}));
  EXPECT_EQ(image(Swizzle::b32, 3), (std::vector<std::string>{"01234567", "10325476", "01234567"}));
  EXPECT_EQ(image(Swizzle::b64, 5),
            (std::vector<std::string>{"01234567", "10325476", "23016745", "32107654", "01234567"}));
  EXPECT_EQ(image(Swizzle::b128, 9),
            (std::vector<std::string>{"01234567", "10325476", "23016745", "32107654", "45670123", "54761032",
                                      "67452301", "76543210", "01234567"}));
  EXPECT_EQ(image(Swizzle::b128_atom32, 5),
            (std::vector<std::string>{"01234567", "23016745", "45670123", "67452301", "01234567"}));
  EXPECT_EQ(image(Swizzle::b128_atom64, 3), (std::vector<std::string>{"01234567", "45670123", "01234567"}));
}

TEST(Swizzle, FlipExchangesTheHalvesOfSixteenBytesInEveryOtherLine) {
  EXPECT_EQ(swizzled(Swizzle::b128_atom32_flip8, 0), 0u);
  EXPECT_EQ(swizzled(Swizzle::b128_atom32_flip8, 128), 128u + 32 + 8);
  EXPECT_EQ(swizzled(Swizzle::b128_atom32_flip8, 128 + 8), 128u + 32);
  EXPECT_EQ(swizzled(Swizzle::b128_atom32_flip8, 256), 256u + 64);
}

TEST(Swizzle, AppliedTwiceGivesTheAddressBack) {
  for (int i = 0; i <= static_cast<int>(Swizzle::b128_atom64); ++i)
    for (std::uint32_t address = 0; address < 8192; address += 4)
      EXPECT_EQ(swizzled(static_cast<Swizzle>(i), swizzled(static_cast<Swizzle>(i), address)), address);
}

TEST(Swizzle, RepeatsAfterItsPatternAndNotBefore) {
  for (const Swizzle swizzle : {Swizzle::b32, Swizzle::b64, Swizzle::b128, Swizzle::b128_atom32,
                                Swizzle::b128_atom32_flip8, Swizzle::b128_atom64}) {
    const auto repeats = [&](std::uint32_t bytes) {
      for (std::uint32_t address = 0; address < 2048; ++address)
        if (swizzled(swizzle, address + bytes) != swizzled(swizzle, address) + bytes) return false;
      return true;
    };
    EXPECT_TRUE(repeats(pattern_of(swizzle)));
    EXPECT_FALSE(repeats(pattern_of(swizzle) / 2));
  }
  EXPECT_EQ(pattern_of(Swizzle::none), 0u);
}
