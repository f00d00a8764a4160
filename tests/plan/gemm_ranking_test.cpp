// The ranking of GEMM plans: what it takes, as it was measured.
#include "plan/gemm_ranking.hpp"

#include <algorithm>
#include <memory>
#include <set>

#include <gtest/gtest.h>

#include "plan/gemm_candidates.hpp"
#include "plan/gemm_choice.hpp"
#include "plan/gemm_plan_text.hpp"
#include "plan/gemm_tensor_memory.hpp"

using namespace wm;
using namespace wm::plan;

// A plan never shares tiles in runs that are empty: the cluster that collects would wait for sums that nobody leaves.
TEST(GemmRanking, EveryClusterOfASplitPlanHasWork) {
  for (const std::int64_t m : {1, 100, 500, 1000, 5000})
    for (const std::int64_t k : {1, 64, 65, 300, 1000, 20000})
      for (const int multiprocessors : {4, 132})
        for (const char* text :
             {"128x128 split", "64x16 g1 split exchange", "128x256 c2x1 split", "128x64 c2x2 split"}) {
          const auto e = estimate(plan_from_text(text), {m, 700, k}, {.multiprocessors = multiprocessors});
          EXPECT_TRUE(e.schedule.work.shared_tiles == 0 || e.schedule.work.run >= 1) << text << " " << m << " " << k;
          EXPECT_LE(e.schedule.work.clusters * e.plan.cluster_size(), unsigned(multiprocessors));
        }
}

TEST(GemmRanking, LongProductsShareOperandsInPairsAtMost) {
  const auto largest_cluster = [](const GemmShape& shape) {
    int blocks = 0;
    for (const GemmPlan& plan : candidate_plans({}, shape, {}))
      if (plan.multicasts()) blocks = std::max(blocks, plan.cluster_size());
    return blocks;
  };
  EXPECT_EQ(largest_cluster({4096, 4096, 5000}), 8);
  EXPECT_EQ(largest_cluster({4096, 4096, 6000}), 2);
  EXPECT_EQ(largest_cluster({.m = 1024, .n = 1024, .k = 6000, .batch = 16}), 2);
}

TEST(GemmRanking, IsOrderedAndCountsWaves) {
  const auto ranking = rank({}, {4096, 4096, 4096}, {});
  ASSERT_EQ(ranking.size(), candidate_plans({}, {4096, 4096, 4096}, {}).size());
  for (std::size_t i = 1; i < ranking.size(); ++i) EXPECT_LE(ranking[i - 1].seconds, ranking[i].seconds);
  const auto e = estimate({.tile = {128, 256}, .cluster = {2, 1}}, {4096, 4096, 4096}, {});
  EXPECT_EQ(e.schedule.tiles, 16 * 16);
  EXPECT_EQ(e.schedule.work.clusters, 66);
  EXPECT_EQ(e.waves, 4);
}

TEST(GemmRanking, PrefersSmallTilesWhereLargeOnesWouldLeaveTheChipIdle) {
  const auto best = rank({}, {1024, 1024, 1024}, {}).front();
  EXPECT_GE(best.schedule.tiles * best.plan.cluster_size(), 64);
}

// A B200 as its data sheet has it.
const ChipRates b200 = [] {
  DeviceInfo info{};
  info.arch = Architecture::parse("sm_100a");
  info.multiprocessors = 148;
  info.shared_bytes_per_multiprocessor = 233472;
  info.l2_bytes = std::size_t{126} << 20;
  return rates_of(info);
}();

TEST(TensorMemoryModel, HasTheCyclesOfTheDataSheet) {
  const auto cycles = [](int m, int n, bool pair) { return product_cycles({.tile = {m, n}, .pair = pair}); };
  EXPECT_EQ(cycles(128, 64, false), 48);
  EXPECT_EQ(cycles(128, 128, false), 64);
  EXPECT_EQ(cycles(128, 256, false), 128);
  EXPECT_EQ(cycles(64, 128, false), 64);
  EXPECT_EQ(cycles(128, 256, true), 128);
  EXPECT_EQ(cycles(128, 64, true), 43);
}

TEST(TensorMemoryModel, SaysWhatBinds) {
  ASSERT_EQ(b200.instruction, TensorInstruction::tcgen05);
  const auto binds = [](const char* plan, GemmShape shape) {
    return std::string(estimate(plan_from_text(plan), shape, b200).binds);
  };
  EXPECT_EQ(binds("128x256 s6 c2x1 g1 pair", {8192, 8192, 8192}), "products");
  EXPECT_EQ(binds("128x128 s6 c1x1 g1 tcgen05", {8192, 8192, 8192}), "copies");  // 32 KiB for 256 cycles of products
  EXPECT_EQ(binds("128x64 c1x1 g1 tcgen05 exchange", {64, 28672, 4096}), "memory");
  EXPECT_EQ(binds("128x32 s6 c1x1 g1 tcgen05", {1024, 1024, 64}), "stores");
}

TEST(TensorMemoryModel, IsSlowerThanTheTensorCoresAndTakesPairsForLargeProducts) {
  for (const std::int64_t size : {4096, 8192}) {
    const auto best = rank({}, {size, size, size}, b200).front();
    EXPECT_TRUE(best.plan.pair);
    EXPECT_GT(best.seconds, 2.0 * double(size * size * size) / b200.tensor_flops);
  }
}

// Trees change the order of plans that are close, and lift none that is far behind.
TEST(GemmRanking, AsksTreesAboutThePlansThatMayBeTheBest) {
  const GemmShape shape{4096, 4096, 4096};
  const auto by_arithmetic = rank({}, shape, {});
  ChipRates rates;
  const auto with_tree = [&](const char* text) {
    rates.gemm.of_16_bits.trees = std::make_shared<GemmTrees>(GemmTrees{{GemmTree::from_text(text)}});
    return rank({}, shape, rates);
  };
  const GemmPlan first = by_arithmetic[0].plan;
  const auto slower = with_tree(first.tile.n > 128 ? "tile_columns 129 -0.5 0" : "tile_columns 129 0 -0.5");
  EXPECT_NE(slower[0].plan.tile.n > 128, first.tile.n > 128);
  EXPECT_NEAR(slower[0].seconds, estimate(slower[0].plan, shape, rates).seconds, 1e-12);
  const auto far = std::find_if(by_arithmetic.begin(), by_arithmetic.end(), [&](const GemmEstimate& e) {
    return e.plan.tile.n == 16 && e.seconds > 2 * by_arithmetic[0].seconds;
  });
  ASSERT_NE(far, by_arithmetic.end());
  const auto lifted = with_tree("tile_columns 17 -5 0");
  EXPECT_EQ(text_of(lifted[0].plan), text_of(first));
  // Those of promoted sums leave products without alone, doubts and all.
  const GemmKind small{.a = DType::e4m3, .b = DType::e4m3};
  ChipRates promoted;
  promoted.gemm.of_8_bits.promoted = std::make_shared<GemmTrees>(GemmTrees{{GemmTree::from_text("0.3")}});
  for (const GemmShape& few : {shape, GemmShape{8, 9000, 4096}}) {
    const GemmEstimate with = rank(small, few, promoted)[0], without = rank(small, few, {})[0];
    EXPECT_EQ(text_of(with.plan), text_of(without.plan));
    EXPECT_EQ(with.seconds, without.seconds);
  }
  // Operands that threads bring were not measured.
  GemmKind by_threads;
  by_threads.a_producer = by_threads.b_producer = Producer::elements;
  EXPECT_EQ(text_of(rank(by_threads, shape, rates)[0].plan), text_of(rank(by_threads, shape, {})[0].plan));
}

// Of two tiles that cover the columns as often the narrower is tried; few rows may be the columns of an exchanged plan.
TEST(GemmRanking, TriesTilesThatFitTheShape) {
  const auto plans = candidate_plans({}, {200, 2432, 13824}, {});
  const auto has = [&](const char* text) {
    return std::any_of(plans.begin(), plans.end(), [&](const GemmPlan& plan) { return text_of(plan) == text; });
  };
  EXPECT_TRUE(has("64x208 s3 c1x1x3 g1 exchange"));  // 200 rows in one tile of 208
  for (const GemmPlan& plan : plans)
    EXPECT_TRUE(!plan.exchange || plan.tile.n <= 208) << text_of(plan);  // wider ones cover them no better
  EXPECT_TRUE(has("128x256 s4 c2x1"));
  for (const GemmPlan& plan : candidate_plans({}, {4096, 4096, 4096}, {})) {
    EXPECT_FALSE(plan.exchange);
    EXPECT_EQ(plan.cluster.k, 1);
  }
}

// The chip that plans were measured on.
const ChipRates h200 = [] {
  DeviceInfo info{};
  info.name = "NVIDIA H200";
  info.arch = Architecture::parse("sm_90a");
  info.multiprocessors = 132;
  info.shared_bytes_per_multiprocessor = 233472;
  info.l2_bytes = std::size_t{60} << 20;
  return rates_of(info);
}();

// As measured: eight blocks that share operands take 28.7 us instead of 43.2 with the first shape, and 17% more than
// the best with the second.
TEST(GemmRanking, BelievesEightBlocksThatShareOnlyWhereTheyGainMuch) {
  EXPECT_EQ(rank({}, {1696, 592, 7920}, h200).front().plan.cluster_size(), 8);
  EXPECT_LE(rank({}, {1728, 1696, 656}, h200).front().plan.cluster_size(), 2);
}

std::string first(const GemmKind& kind, const GemmShape& shape) {
  return text_of(rank(kind, shape, h200).front().plan);
}

// A measured favourite for a few rows, which the model's estimates do not tell from others.
TEST(GemmRanking, TakesTheMeasuredFavouriteForAFewRows) {
  const GemmKind e4m3{.a = DType::e4m3, .b = DType::e4m3};
  for (const GemmKind& kind : {GemmKind{}, e4m3}) {
    EXPECT_EQ(first(kind, {1, 31280, 20256}), "64x8 s16 c1x1 g1 split exchange");
    EXPECT_EQ(first(kind, {31280, 2, 20256}), "64x8 s16 c1x1 g1 split");
    EXPECT_EQ(first(kind, {12, 31280, 20256}), "64x16 s16 c1x1 g1 split exchange");
    EXPECT_EQ(first(kind, {8, 16384, 16384}), "64x8 s16 c1x1 g1 exchange") << "256 whole tiles fill two waves";
  }
}

// What a tile of 16 columns does not fill its blocks would ask for all the same. Not where the few lie side by side,
// nor where threads bring them.
TEST(GemmRanking, TakesNarrowTilesForUpToEightRowsOrColumns) {
  const auto widths = [](GemmKind kind, const GemmShape& shape) {
    std::set<int> found;
    for (const GemmPlan& plan : candidate_plans(kind, shape, h200))
      if (plan.exchange == (shape.m < shape.n) && plan.tile.n <= 16) found.insert(plan.tile.n);
    return found;
  };
  EXPECT_EQ(widths({}, {8, 4096, 4096}), std::set{8});
  EXPECT_EQ(widths({}, {4096, 8, 4096}), std::set{8});
  EXPECT_EQ(widths({}, {9, 4096, 4096}), std::set{16});
  EXPECT_EQ(widths({.a_major = Major::mn}, {8, 4096, 4096}), std::set{16});
  EXPECT_EQ(widths({.b_major = Major::mn}, {8, 4096, 4096}), std::set{8});
  EXPECT_EQ(widths({.a_producer = Producer::copies8, .b_producer = Producer::copies8}, {8, 4096, 4096}), std::set{16});
  EXPECT_EQ(estimate(plan_from_text("64x8 s16 c1x1 g1 exchange"), {8, 4096, 512}, h200).seconds,
            estimate(plan_from_text("64x16 s16 c1x1 g1 exchange"), {8, 4096, 512}, h200).seconds);
}

// By the model, as it was measured: microseconds behind a product that writes one of the operands, where not said
// otherwise.
TEST(GemmRanking, TakesAsManyBlocksForAFewRowsAsAreFastest) {
  const GemmKind e4m3{.a = DType::e4m3, .b = DType::e4m3};
  EXPECT_EQ(first({}, {4, 4352, 880}), "128x8 s13 c1x1 exchange") << "34, which leave room for the next product";
  EXPECT_EQ(first({}, {3, 64, 30528}), "64x8 s16 c1x1x8 g1 split5 exchange") << "one tile, five clusters of eight";
  EXPECT_EQ(first({}, {7, 528, 26528}), "64x8 s16 c1x1x8 g1 split exchange") << "10.4; nine clusters of five 11.2";
  EXPECT_EQ(first({}, {5, 80, 384}), "64x8 s16 c1x1x6 g1 exchange") << "1.7; one block for each tile 2.1";
  EXPECT_EQ(first(e4m3, {1, 112, 1200}), "64x8 s16 c1x1x6 g1 exchange") << "1.9; one block for each tile 2.5";
  EXPECT_EQ(first({}, {6, 10416, 720}), "256x8 s6 c1x1 exchange") << "5.8; pairs of 192 rows 6.3";
  EXPECT_EQ(first(e4m3, {7, 9664, 1760}), "192x8 s8 c1x1 g3 exchange") << "5.8; pairs 6.2";
  EXPECT_EQ(first({}, {7, 6624, 1360}), "128x8 s13 c1x1 exchange") << "6.0; fours 6.6";
  EXPECT_EQ(first(e4m3, {2, 6992, 3200}), "64x8 s16 c1x1 g1 exchange") << "7.0; fours of 128 rows 7.2";
  EXPECT_EQ(first({}, {8, 11264, 1936}), "64x8 s16 c1x1 g1 split exchange") << "12.6; pairs of 192 rows 13.2";
  EXPECT_EQ(first(e4m3, {7, 10224, 5952}), "64x8 s16 c1x1 g1 split exchange") << "16.0; pairs of 192 rows 16.8";
}

// Blocks of 128 rows by themselves took 9.4, 9.8 and 10.4 us, fours of them 7.1, 7.9 and 8.6, blocks of 64
// rows 6.6, 7.5 and 8.5.
TEST(GemmRanking, DoubtsTallBlocksByThemselvesWithManySteps) {
  const GemmKind e4m3{.a = DType::e4m3, .b = DType::e4m3};
  for (const GemmShape shape : {GemmShape{2, 5792, 3776}, {7, 6144, 4160}, {4, 6128, 4640}}) {
    const GemmPlan plan = rank(e4m3, shape, h200).front().plan;
    EXPECT_TRUE(plan.tile.m == 64 || plan.cluster_size() == 4) << text_of(plan);
  }
}

// As measured. Parts of large tiles leave a thread no more than 16 registers besides.
TEST(GemmRanking, PromotesInTilesAsLargeAsOthersAre) {
  GemmKind promoted{.a = DType::e4m3, .b = DType::e4m3};
  promoted.promote = true;
  EXPECT_EQ(first(promoted, {7232, 1920, 12704}), "192x192 s4 c2x1 g3") << "244 us, alone 242; 128x176 254";
  EXPECT_EQ(first(promoted, {1248, 8096, 15968}).substr(0, 10), "128x208 s4") << "229 us; 192x144 239";
  const GemmPlan pair = rank(promoted, {1408, 1472, 6528}, h200).front().plan;
  EXPECT_EQ(pair.cluster_size(), 2) << "22 us as c1x2; exchanged and alone 25 to 26";
  EXPECT_EQ(text_of(pair).substr(0, 10), "128x128 s6");
  EXPECT_EQ(first(promoted, {1936, 1312, 13824}), "192x112 s5 c1x2 g3 exchange") << "52 us; alone 68";
  // Few rows and a short k are ranked as without promotion, with its additions.
  const GemmPlan few = rank(promoted, {2, 5792, 3776}, h200).front().plan;
  EXPECT_FALSE(few.tile.m == 128 && few.cluster_size() == 1) << "2 to 63% behind 64x8 on fifteen of sixteen";
  for (const GemmShape& shape : {GemmShape{8, 7168, 4096}, {300, 2048, 8192}, {4096, 4096, 512}})
    EXPECT_GE(rank(promoted, shape, h200).front().seconds,
              rank({.a = DType::e4m3, .b = DType::e4m3}, shape, h200).front().seconds);
  EXPECT_EQ(first(promoted, {1984, 2432, 12816}), "256x160 s4 c1x2") << "96 us; 128x176 98 to 103";
  const GemmPlan wide{.kind = promoted, .tile = {128, 256}, .stages = 4, .cluster = {1, 1}};
  EXPECT_EQ(wide.promoted_columns(), 128);
  EXPECT_EQ(wide.promoted_together(), 1) << "two halves would not leave a thread its addresses";
  const GemmPlan halves{.kind = promoted, .tile = {128, 192}, .stages = 4, .cluster = {1, 1}};
  EXPECT_EQ(halves.promoted_columns(), 96);
  EXPECT_EQ(halves.promoted_together(), 2);
  EXPECT_EQ(halves.promoted_steps(), 4);
  EXPECT_EQ(halves.accumulator_registers(), 96 + 2 * 48);
  // The table is of products without promotion.
  EXPECT_FALSE(choose(promoted, {4096, 4096, 4096}, h200, "NVIDIA H200")->tuned);
}

// By hand, after docs/gemm.md: of parts one after the other all, of overlapping ones the last of a round, and of these
// what other groups' products leave exposed.
TEST(GemmRanking, CountsTheAdditionsOfPromotedPartsThatNothingHides) {
  const auto clocks = [](const char* text) {
    GemmKind promoted{.a = DType::e4m3, .b = DType::e4m3};
    promoted.promote = true;
    return promotion_clocks(plan_from_text(text, promoted));
  };
  EXPECT_DOUBLE_EQ(clocks("128x128 s4"), 0.2 * (64 + 100) / 8);     // eight steps to a round
  EXPECT_DOUBLE_EQ(clocks("128x192 s4"), 0.2 * (48 + 100) / 4);     // four
  EXPECT_DOUBLE_EQ(clocks("256x144 s3"), 0.7 * (36 + 100) / 2);     // two, of four parts each
  EXPECT_DOUBLE_EQ(clocks("128x256 s4"), 0.25 * 2 * (64 + 100));    // two parts, no overlap
  EXPECT_DOUBLE_EQ(clocks("256x160 s3"), 0.36 * 4 * (40 + 100));    // four
  EXPECT_DOUBLE_EQ(clocks("192x176 s4 g3"), 0.1 * 2 * (44 + 100));  // three groups hide most
  EXPECT_DOUBLE_EQ(clocks("64x128 s4 g1"), (64 + 100) / 8.);        // nobody hides anything
  EXPECT_DOUBLE_EQ(clocks("128x128 s4 pingpong"), 2 * (64 + 100));  // of a group's 128 rows
}

TEST(GemmRanking, TakesPromotedTilesThatClustersShareForLater) {
  GemmKind plain{.a = DType::e4m3, .b = DType::e4m3}, promoted = plain;
  promoted.promote = true;
  const auto longer = [&](const char* plan) {
    const GemmShape shape{1024, 1024, 16384};
    return estimate(plan_from_text(plan, promoted), shape, {}).seconds /
           estimate(plan_from_text(plan, plain), shape, {}).seconds;
  };
  EXPECT_NEAR(longer("128x128 s6 split") / longer("128x128 s6"), 1.05, 0.01) << "but for its start";
}

// Of the first, blocks of 128 rows took 15.6 us, fours of 64 rows 14.6; pairs of 64 rows that share tiles were not
// measured there. Of the second they had 0.77 of cuBLASLt.
TEST(GemmRanking, TakesLowTilesWhereTallOnesHaveManySteps) {
  const GemmKind e4m3{.a = DType::e4m3, .b = DType::e4m3};
  EXPECT_EQ(rank(e4m3, {8, 13904, 3568}, h200).front().plan.tile.m, 64);
  EXPECT_EQ(rank(e4m3, {10, 7536, 2592}, h200).front().plan.tile.m, 64);
}

// Of the first, blocks of 128 rows took a tenth more than cuBLASLt, tiles of 64 rows that all blocks share evenly 7%
// more, and fours 1% less; of the second, those that share as long as cuBLASLt and fours 4% less.
TEST(GemmRanking, TakesLowTilesWhereBlocksHaveSeveral) {
  EXPECT_EQ(first({}, {3, 26064, 496}), "64x8 s16 c4x1 g1 exchange");
  EXPECT_EQ(first({}, {4, 27280, 592}), "64x8 s16 c4x1 g1 exchange");
  EXPECT_EQ(first({}, {1, 24480, 352}), "64x8 s16 c1x1 g1 exchange");
  // On all seven products of this kind that were measured, tiles that all blocks share were 7% to 36% behind.
  for (const GemmShape shape : {GemmShape{7, 20352, 608}, {3, 19968, 960}})
    EXPECT_FALSE(rank({}, shape, h200).front().plan.split) << shape.n;
}

// How fast they are alone may depend on where the next product's blocks land (docs/gemm.md).
TEST(GemmRanking, TakesTallTilesInPairsWhereTheyHaveManySteps) {
  EXPECT_EQ(first({.a = DType::e4m3, .b = DType::e4m3}, {4, 9392, 2160}), "192x8 s8 c2x1 g3 exchange");
  EXPECT_EQ(first({}, {3, 11664, 1040}), "256x8 s6 c2x1 exchange");
}

// Which of a ranking's plans, from one on, has the shortest estimate.
std::ptrdiff_t best_from(std::ptrdiff_t first, const GemmShape& shape) {
  const auto ranking = rank({}, shape, h200);
  const auto shorter = [](const GemmEstimate& a, const GemmEstimate& b) { return a.seconds < b.seconds; };
  return std::min_element(ranking.begin() + first, ranking.end(), shorter) - ranking.begin();
}

TEST(GemmRanking, KeepsTheOrderBehindAFavourite) { EXPECT_EQ(best_from(1, {1, 31280, 20256}), 1); }

TEST(GemmRanking, HasNoFavouriteForBatchesMoreRowsAndSmallerOperands) {
  for (const GemmShape& shape :
       {GemmShape{1, 31280, 20256, 2}, {17, 8192, 8192}, {32, 16384, 4096}, {4, 16000, 2400}, {1, 16384, 2560}})
    EXPECT_EQ(best_from(0, shape), 0) << shape.m << " x " << shape.n << " x " << shape.k << ", batch of "
                                      << shape.batch;
}

// A few tiles and a long k: without them 52.5, 62.3 and 15.2 us, with them 40.1, 48.0 and 12.3.
TEST(GemmRanking, SpreadsAFewTilesWithALongK) {
  for (const GemmShape shape : {GemmShape{560, 816, 22384}, {352, 1968, 21376}, {224, 208, 19312}}) {
    const GemmEstimate best = rank({}, shape, h200).front();
    EXPECT_TRUE(best.plan.spread || (best.plan.multicasts() && best.plan.cluster.k > 1)) << text_of(best.plan);
  }
  EXPECT_FALSE(rank({}, {4096, 4096, 4096}, h200).front().plan.spread);
}

// Each tile has as many pieces, which end with it.
TEST(GemmSchedule, SpreadsTilesInEqualNumbersOfPieces) {
  const auto spread = [](const char* plan, const GemmShape& shape) {
    return schedule_of(plan_from_text(plan), shape, h200);
  };
  const GemmSchedule nine = spread("128x128 c1x1 split spread", {384, 384, 10000});
  EXPECT_EQ(nine.work.shared_tiles, 9u);
  EXPECT_EQ(nine.work.clusters, 9u * 14);
  for (unsigned tile = 0; tile <= 9; ++tile) EXPECT_EQ(nine.work.run_begin(tile * 14), tile * nine.steps);
  EXPECT_EQ(spread("128x128 c1x1 split3 spread", {384, 384, 10000}).work.clusters, 27u);
  EXPECT_EQ(spread("128x128 c1x1 split spread", {128, 128, 32000}).work.clusters, 56u) << "as many as have bits";
  EXPECT_EQ(spread("128x128 c1x1 split spread", {384, 384, 512}).work.clusters, 18u) << "four steps at least";
  EXPECT_FALSE(spread("128x128 c1x1 split spread", {1280, 1280, 10000}).shares()) << "100 tiles for 132";
  EXPECT_FALSE(spread("128x128 c1x1 split spread", {2560, 1280, 10000}).shares()) << "200 tiles";
}

// What was measured on an H200 (docs/gemm.md): the estimate stays within a third of it for most families' plans, and is
// what the page works out by hand.
TEST(GemmRanking, EstimatesWhatWasMeasured) {
  const struct {
    GemmShape shape;
    const char* plan;
    double us;
  } measured[] = {{{10160, 8944, 32384}, "128x176 s5 c1x1 pingpong", 7197.6},
                  {{1056, 7280, 32400}, "128x256 s4 c1x1", 671.8},
                  {{208, 80, 6576}, "64x32 s15 c1x1x4 g1", 6.0},
                  {{2, 1472, 736}, "64x16 s16 c1x1 g1 exchange", 2.9},
                  {{288, 2944, 832}, "64x144 s7 c1x1 pingpong exchange", 5.6},
                  {{1, 80, 736}, "64x16 s16 c1x1 g1", 2.6},
                  {{64, 192, 64}, "64x16 s16 c1x1 g1 exchange", 1.7},
                  {{2432, 1408, 32544}, "128x240 s4 c1x2", 296.6}};
  for (const auto& row : measured) {
    const GemmPlan plan = plan_from_text(row.plan);
    EXPECT_NEAR(estimate(plan, row.shape, {}).seconds * 1e6 / row.us, 1, 0.33) << row.plan;
  }
  EXPECT_NEAR(estimate(plan_from_text("64x32 s16 c1x1x2 g1"), {64, 2112, 7168}, {}).seconds * 1e6, 14.1, 0.05);
}

// Behind a kernel of ours few rows with a short k take one tall tile for each multiprocessor, whose copies all fit its
// ring, or a low one with so few stages that two kernels' blocks fit; what was measured, shared along k, or fills half
// the chip stays.
TEST(GemmRanking, TakesOneTileForEachBlockOfFewRowsThatComeEarly) {
  const ChipRates rates = hopper_rates(132);
  const auto early = [&](const GemmShape& shape, DType type, const char* taken, bool tuned = false) {
    const GemmKind kind{.a = type, .b = type};
    const auto plan = early_plan({plan_from_text(taken, kind), tuned}, kind, shape, rates);
    return plan ? text_of(*plan) : "";
  };
  const char* const usual = "64x16 c1x1 g1 exchange";
  EXPECT_EQ(early({5, 16000, 800}, DType::bf16, usual), "128x8 s13 c1x1 exchange");
  EXPECT_EQ(early({5, 18000, 400}, DType::bf16, usual), "192x8 s8 c1x1 g3 exchange");
  EXPECT_EQ(early({5, 18000, 700}, DType::bf16, usual), "128x8 s13 c1x1 exchange") << "11 steps, 8 stages";
  EXPECT_EQ(early({5, 27000, 464}, DType::e4m3, usual), "256x8 s6 c1x1 exchange");
  EXPECT_EQ(early({27000, 5, 464}, DType::e4m3, "64x16 c1x1 g1"), "256x8 s5 c1x1");
  EXPECT_EQ(early({5, 27000, 464}, DType::bf16, "64x112 c1x4 pingpong"), "128x8 s13 c1x1 exchange");
  EXPECT_EQ(early({5, 16000, 800}, DType::bf16, "128x8 c1x1 exchange"), "") << "it is that one";
  EXPECT_EQ(early({12, 16000, 800}, DType::bf16, usual), "128x16 s12 c1x1 exchange");
  EXPECT_EQ(early({5, 16000, 800}, DType::bf16, usual, true), "") << "measured";
  EXPECT_EQ(early({5, 16000, 1100}, DType::bf16, usual), "") << "18 steps";
  EXPECT_EQ(early({17, 16000, 800}, DType::bf16, "64x32 c1x1 g1 exchange"), "") << "17 rows";
  EXPECT_EQ(early({5, 16000, 800, 2}, DType::bf16, usual), "") << "a batch";
  EXPECT_EQ(early({5, 8000, 800}, DType::bf16, usual), "64x8 s12 c1x1 g1 exchange") << "two blocks have room";
  EXPECT_EQ(early({5, 8000, 800}, DType::bf16, "128x16 c1x1 exchange"), "64x8 s12 c1x1 g1 exchange");
  EXPECT_EQ(early({5, 8000, 1100}, DType::bf16, usual), "") << "18 steps";
  EXPECT_EQ(early({5, 6000, 800}, DType::bf16, usual), "") << "94 tiles: tall ones on half the chip are faster";
  EXPECT_EQ(early({5, 13000, 600}, DType::bf16, "256x16 c1x1 exchange"), "") << "51 blocks";
  EXPECT_EQ(early({5, 16000, 800}, DType::bf16, "64x16 c1x1 g1 split exchange"), "");
}
