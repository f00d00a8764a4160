// The fit of the ranking's constants: it finds a chip that differs from the one it begins with, and reads tables.
#include <gtest/gtest.h>

#include "gemm/gemm_bench.hpp"
#include "gemm/gemm_tree_fit.hpp"
#include "plan/gemm_plan_text.hpp"
#include "warpmill/error.hpp"

using namespace wm;
using namespace wm::bench;

namespace {

// What a chip with these constants would measure: the eight best of its plans for random shapes, and eight others.
std::vector<MeasuredPlan> measured_on(const plan::GemmModel& chip) {
  plan::ChipRates rates;
  rates.gemm = {chip, chip, chip};
  std::vector<MeasuredPlan> pairs;
  for (const Shape& shape : random_shapes(24, 5, false, DType::bf16)) {
    const plan::GemmShape sizes{shape.m, shape.n, shape.k};
    const auto ranking = plan::rank({}, sizes, rates);
    for (std::size_t i = 0; i < 16; ++i) {
      const auto& e = ranking[i < 8 ? i : (i - 7) * (ranking.size() - 1) / 8];
      pairs.push_back({sizes, e.plan, e.seconds * 1e6});
    }
  }
  return pairs;
}

}  // namespace

TEST(GemmCalibration, FindsAChipThatDiffers) {
  plan::GemmModel chip;
  chip.strip *= 4, chip.l2_rate *= 0.3, chip.two_groups *= 1.6, chip.turns_of_128 *= 1.5;
  const auto pairs = measured_on(chip);
  EXPECT_NEAR(quality_of(chip, pairs, {}).mean_regret, 0, 1e-9);
  const ModelQuality before = quality_of({}, pairs, {});
  const ModelQuality after = quality_of(fitted({}, pairs, {}, {.steps = 600}), pairs, {});
  EXPECT_GT(before.mean_regret, 0.03);
  EXPECT_LT(after.mean_regret, before.mean_regret / 3);
  EXPECT_LT(after.spread, before.spread / 2);
}

// A chip whose times depend on what no constant says: trees find it, and more of it than of what they have not seen.
TEST(GemmCalibration, LearnsWhatTheConstantsLeaveUnexplained) {
  auto pairs = measured_on({});
  for (MeasuredPlan& pair : pairs)
    pair.us *= (pair.plan.tile.n > 100 ? 1.5 : 1.0) * (pair.shape.k < 1000 && pair.plan.stages > 6 ? 0.7 : 1.0);
  const auto with_trees = [&](const std::vector<MeasuredPlan>& seen) {
    plan::GemmModel model;
    model.trees = std::make_shared<plan::GemmTrees>(fitted_trees({}, seen, {}, {.least = 4}));
    return model;
  };
  const ModelQuality before = quality_of({}, pairs, {}), after = quality_of(with_trees(pairs), pairs, {});
  EXPECT_GT(before.mean_regret, 0.03);
  EXPECT_LT(after.mean_regret, before.mean_regret / 4);
  EXPECT_LT(after.spread, before.spread / 4);
  const Parts parts = kept_apart(pairs);
  const ModelQuality unseen = quality_of(with_trees(parts.fitted), parts.kept, {});
  EXPECT_LT(unseen.spread, quality_of({}, parts.kept, {}).spread / 2);
  EXPECT_EQ(fitted(with_trees(pairs), pairs, {}, {.steps = 0}).trees, nullptr);
}

// Pairs that came later, of plans that are slower than all before: what was learned stays, and trees behind it learn
// the rest.
TEST(GemmCalibration, GrowsTreesBehindThoseThatAreThere) {
  auto pairs = measured_on({});
  for (MeasuredPlan& pair : pairs) pair.us *= pair.plan.tile.n > 100 ? 1.5 : 1.0;
  plan::GemmModel model;
  model.trees = std::make_shared<plan::GemmTrees>(fitted_trees({}, pairs, {}, {.trees = 60, .least = 4}));
  const auto first = model.trees;
  for (MeasuredPlan& pair : pairs) pair.us *= pair.plan.cluster_size() > 1 ? 1.4 : 1.0;
  const ModelQuality before = quality_of(model, pairs, {});
  model.trees = std::make_shared<plan::GemmTrees>(fitted_trees(model, pairs, {}, {.trees = 60, .least = 4}));
  const ModelQuality after = quality_of(model, pairs, {});
  EXPECT_GT(before.spread, 0.1);
  EXPECT_LT(after.spread, before.spread / 4);
  ASSERT_EQ(model.trees->trees.size(), 120u);
  for (std::size_t i = 0; i < first->trees.size(); ++i) EXPECT_EQ(model.trees->trees[i].text(), first->trees[i].text());
}

// Those of promoted sums learn what the others leave of them, and change nothing for products without.
TEST(GemmCalibration, GrowsTreesOfPromotedSumsBehindTheOthers) {
  auto pairs = measured_on({});
  plan::GemmModel model;
  model.trees = std::make_shared<plan::GemmTrees>(fitted_trees({}, pairs, {}, {.trees = 20, .least = 4}));
  const ModelQuality plain = quality_of(model, pairs, {});
  auto promoted = pairs;
  for (MeasuredPlan& pair : promoted) {
    pair.plan.kind.a = pair.plan.kind.b = DType::e4m3;
    pair.plan.kind.promote = true;
    pair.us *= pair.plan.cluster_size() > 1 ? 1.5 : 1.0;
  }
  const ModelQuality before = quality_of(model, promoted, {});
  model.promoted = std::make_shared<plan::GemmTrees>(fitted_trees(model, promoted, {}, {.trees = 60, .least = 4}));
  EXPECT_EQ(model.promoted->trees.size(), 60u);
  EXPECT_LT(quality_of(model, promoted, {}).spread, before.spread / 3);
  EXPECT_EQ(quality_of(model, pairs, {}).spread, plain.spread);
}

TEST(GemmCalibration, KeepsEveryFourthShapeApart) {
  const auto pairs = measured_on({});
  const Parts parts = kept_apart(pairs);
  EXPECT_EQ(parts.kept.size(), pairs.size() / 4);
  EXPECT_EQ(parts.fitted.size() + parts.kept.size(), pairs.size());
  for (const MeasuredPlan& kept : parts.kept)
    for (const MeasuredPlan& other : parts.fitted)
      EXPECT_FALSE(kept.shape.m == other.shape.m && kept.shape.n == other.shape.n && kept.shape.k == other.shape.k);
}

TEST(GemmCalibration, ReadsTheTablesOfTheBenchmark) {
  GemmTable table{.device = "Chip", .peer = "peer", .operands = DType::e4m3, .rows = {}, .multiprocessors = 114};
  const auto add = [&](const char* plan, const char* path, double us) {
    table.rows.push_back({.shape = {64, 128, 256, DType::e4m3, DType::bf16},
                          .plan = plan::plan_from_text(plan),
                          .path = path,
                          .ours_us = us,
                          .peer_us = 6,
                          .ratio = 1.2});
  };
  add("64x32 s4 c1x1 g1", "copy engine", 5);
  add("64x32 s4 c1x1 g1 exchange", "copy engine", 7);
  add("64x32 s4 c1x1 g1", "threads, 8-byte copies", 9);  // the model has no such producers
  const auto tables = measured_from_json(to_json(std::span(&table, 1)), "file");
  ASSERT_EQ(tables.size(), 1u);
  EXPECT_EQ(tables[0].device, "Chip");
  EXPECT_EQ(tables[0].operands, DType::e4m3);
  EXPECT_EQ(tables[0].multiprocessors, 114);
  ASSERT_EQ(tables[0].pairs.size(), 2u);
  EXPECT_EQ(tables[0].pairs[0].us, 5);
  EXPECT_TRUE(tables[0].pairs[1].plan.kind.d_columns);  // exchanged
  EXPECT_EQ(tables[0].pairs[0].plan.kind.a, DType::e4m3);
  EXPECT_EQ(plan::text_of(tables[0].pairs[0].plan), "64x32 s4 c1x1 g1");
  EXPECT_FALSE(tables[0].promote);
  table.promote = true;
  const auto promoted = measured_from_json(to_json(std::span(&table, 1)), "file");
  EXPECT_TRUE(promoted[0].promote);
  EXPECT_TRUE(promoted[0].pairs[0].plan.kind.promote);
  table.promote = false;
  table.rows[0].ours_us = 0;
  EXPECT_THROW(measured_from_json(to_json(std::span(&table, 1)), "file"), Error);
  EXPECT_THROW(measured_from_json("{\"rows\": 3}", "file"), Error);
  EXPECT_THROW(fitted({}, {}, {}, {}), Error);
  EXPECT_THROW(fitted_trees({}, {}, {}, {}), Error);
  EXPECT_THROW(measured_from_json("no JSON", "file"), Error);
}
