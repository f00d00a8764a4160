// The bits of cache policies.
#include "warpmill/cache_policy.h"

#include <gtest/gtest.h>

using namespace wm;

TEST(CachePolicy, HasPriorityAndFraction) {
  EXPECT_EQ(CachePolicy{}.bits, 0x1000000000000000u);
  EXPECT_EQ(cache::evict_unchanged.bits, 0x10f0000000000000u);
  EXPECT_EQ(cache::evict_first.bits, 0x12f0000000000000u);
  EXPECT_EQ(cache::evict_last.bits, 0x14f0000000000000u);
  EXPECT_EQ(cache::evict_normal.bits, 0x16f0000000000000u);
  // Half of the lines stay, the others make room first.
  EXPECT_EQ(cache::policy(cache::Priority::evict_last, 0.5f, cache::Priority::evict_first).bits, 0x1570000000000000u);
}
