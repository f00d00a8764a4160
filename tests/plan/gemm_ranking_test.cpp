// GEMM plans: what fits the chip, what is refused in words, the order of tiles, the ranking.
#include "plan/gemm_ranking.hpp"

#include <set>

#include <gtest/gtest.h>

using namespace wm;
using namespace wm::plan;

TEST(GemmPlan, EveryCandidateFitsTheChip) {
  const auto plans = candidate_plans({});
  EXPECT_GE(plans.size(), 20u);
  for (const GemmPlan& plan : plans) {
    EXPECT_EQ(plan.problem(), nullptr);
    EXPECT_LE(plan.shared_bytes(), 232448);
    EXPECT_LE(plan.registers(), 65536);
  }
}

TEST(GemmPlan, SaysWhatIsWrongWithAnImpossiblePlan) {
  const auto problem = [](const GemmPlan& plan) { return std::string(plan.problem() ? plan.problem() : ""); };
  EXPECT_NE(problem({.tile = {128, 256}, .stages = 5}).find("shared memory"), std::string::npos);
  EXPECT_NE(problem({.tile = {128, 250}}).find("multiple of 16"), std::string::npos);
  EXPECT_NE(problem({.tile = {96, 128}}).find("tile.m"), std::string::npos);
  EXPECT_NE(problem({.tile = {128, 128}, .stages = 1}).find("2 stages"), std::string::npos);
  EXPECT_NE(problem({.tile = {128, 128}, .cluster = {8, 1}}).find("cluster"), std::string::npos);
  EXPECT_NE(problem({.tile = {256, 256}, .stages = 2}).find("sums"), std::string::npos);
  EXPECT_NE(problem({.tile = {192, 256}, .stages = 3, .multiply_groups = 3}).find("sums"), std::string::npos);
}

TEST(GemmPlan, ScheduleVisitsEachTileOnce) {
  for (const TileSchedule schedule :
       {TileSchedule{1, 1, 1}, {7, 5, 3}, {16, 3, 16}, {5, 9, 8}, {13, 1, 4}, {1, 13, 4}}) {
    std::set<std::pair<unsigned, unsigned>> seen;
    for (unsigned i = 0; i < schedule.count(); ++i) {
      const auto tile = schedule.tile(i);
      EXPECT_LT(tile.row, schedule.rows);
      EXPECT_LT(tile.column, schedule.columns);
      EXPECT_TRUE(seen.emplace(tile.row, tile.column).second);
    }
  }
}

TEST(GemmRanking, IsOrderedAndCountsWaves) {
  const auto ranking = rank({}, {4096, 4096, 4096}, {});
  ASSERT_EQ(ranking.size(), candidate_plans({}).size());
  for (std::size_t i = 1; i < ranking.size(); ++i) EXPECT_LE(ranking[i - 1].seconds, ranking[i].seconds);
  const auto e = estimate({.tile = {128, 256}, .cluster = {2, 1}}, {4096, 4096, 4096}, {});
  EXPECT_EQ(e.tiles, 16 * 16);
  EXPECT_EQ(e.work.clusters, 66);
  EXPECT_EQ(e.waves, 4);
}

TEST(GemmRanking, PrefersSmallTilesWhereLargeOnesWouldLeaveTheChipIdle) {
  const auto best = rank({}, {1024, 1024, 1024}, {}).front();
  EXPECT_GE(best.tiles * best.plan.cluster_size(), 64);
}
