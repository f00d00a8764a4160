// Which plan attention takes, and the order in which it walks the work.
#include "plan/attention_choice.hpp"

#include <set>
#include <tuple>

#include <gtest/gtest.h>

namespace wm::plan {

TEST(AttentionSchedule, BeginsEveryTileOnceAndLongOnesBeforeShortOnes) {
  for (const unsigned batches : {1u, 3u})
    for (const unsigned heads : {1u, 5u, 40u})
      for (const unsigned tiles : {1u, 4u, 7u, 33u})
        for (const unsigned group : {1u, 7u, 33u, batches * heads})
          for (const unsigned rows : {1u, 4u, tiles}) {
            const QuerySchedule schedule{batches, heads, tiles, std::min(group, batches * heads),
                                         std::min(rows, tiles)};
            std::set<std::tuple<unsigned, unsigned, unsigned>> seen;
            unsigned least_so_far = tiles;
            for (unsigned i = 0; i < schedule.count(); ++i) {
              const QueryTile tile = schedule.at(i);
              ASSERT_LT(tile.batch, batches);
              ASSERT_LT(tile.head, heads);
              ASSERT_LT(tile.tile, tiles);
              ASSERT_TRUE(seen.insert({tile.batch, tile.head, tile.tile}).second) << i;
              EXPECT_LT(tile.tile, least_so_far + schedule.rows) << "a tile comes long after shorter ones";
              least_so_far = std::min(least_so_far, tile.tile);
            }
            EXPECT_EQ(seen.size(), schedule.count());
          }
}

TEST(AttentionRanking, HasAPlanForEveryKindThatFitsAndIsOrdered) {
  for (const int dim : {64, 128, 192, 256})
    for (const int value_dim : {64, 128, 192, 256})
      for (const std::int64_t queries : {1, 64, 65, 4096}) {
        AttentionKind kind;
        kind.head_dim = dim, kind.value_dim = value_dim;
        const auto ranking = rank(kind, {2, 8, 8, queries, 4096}, {});
        ASSERT_FALSE(ranking.empty()) << dim << "/" << value_dim;
        for (std::size_t i = 0; i < ranking.size(); ++i) {
          EXPECT_TRUE(ranking[i].plan.valid());
          EXPECT_EQ(ranking[i].plan.kind, kind);
          if (i > 0) EXPECT_LE(ranking[i - 1].seconds, ranking[i].seconds);
        }
        EXPECT_EQ(ranking.front().plan.groups == 1, queries <= 64);
      }
}

TEST(AttentionRanking, CountsTheBlocksThatAMaskLeaves) {
  AttentionKind kind;
  const AttentionPlan plan{.kind = kind, .keys = 128};
  const AttentionShape shape{.batch = 64, .queries = 1024, .keys = 1024};
  EXPECT_DOUBLE_EQ(estimate(plan, shape, {}).blocks, 8);
  AttentionPlan causal = plan;
  causal.kind.mask.right = true;
  EXPECT_DOUBLE_EQ(estimate(causal, shape, {}).blocks, 4.5);
  AttentionPlan window = causal;
  window.kind.mask.left = true;
  AttentionShape with_window = shape;
  with_window.left = 128;
  EXPECT_DOUBLE_EQ(estimate(window, with_window, {}).blocks, (1 + 2 * 7) / 8.);
  EXPECT_LT(estimate(causal, shape, {}).seconds, estimate(plan, shape, {}).seconds);
}

// Blocks of 128 keys where a causal mask would leave much of wider ones unused, wider ones where sequences are long.
TEST(AttentionRanking, TakesNarrowBlocksForShortCausalSequences) {
  AttentionKind kind;
  kind.mask.right = true;
  EXPECT_EQ(rank(kind, {8, 16, 16, 2048, 2048}, {}).front().plan.keys, 128);
  EXPECT_EQ(rank(kind, {1, 16, 16, 16384, 16384}, {}).front().plan.keys, 176);
}

}  // namespace wm::plan
