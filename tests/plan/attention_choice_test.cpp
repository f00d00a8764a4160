// Which plan attention takes, and the order in which it walks the work.
#include "plan/attention_choice.hpp"

#include <cmath>
#include <random>
#include <set>
#include <tuple>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "plan/attention_plan_text.hpp"
#include "warpmill/error.hpp"

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

// Where tiles differ, by a mask or by expressions that skip steps, those that every head begins last come last of all:
// the heads of a group are not finished before the next group begins.
TEST(AttentionSchedule, TakesTilesOfDifferentLengthsRowByRowOfAllHeads) {
  const AttentionShape shape{.batch = 2, .heads = 32, .kv_heads = 32, .queries = 4096, .keys = 4096};
  const auto rows_of = [&](const AttentionKind& kind) { return schedule_of({.kind = kind}, shape, {}).rows; };
  EXPECT_EQ(rows_of({}), 32u);
  EXPECT_EQ(rows_of({.expressions = {.mask = true, .whole = true}}), 32u);
  EXPECT_EQ(rows_of({.mask = {.right = true}}), 4u);
  EXPECT_EQ(rows_of({.expressions = {.mask = true, .skip = true}}), 4u);
  // Of more tiles than a block puts into order the heads of a group stay together.
  const AttentionShape longer{.batch = 1, .heads = 32, .kv_heads = 32, .queries = 32896, .keys = 4096};
  EXPECT_EQ(schedule_of({.kind = {.expressions = {.mask = true, .skip = true}}}, longer, {}).rows, 257u);
}

// What chooses steps takes nothing from the groups: they go as far as without expressions. Under a causal mask that is
// as far as in documents of 2,048 keys.
TEST(AttentionRanking, TakesStepsOfDocumentsAsWideAsThoseWithoutAMask) {
  const auto keys_of = [](int dim, bool causal, bool skips, std::int64_t batch, std::int64_t heads,
                          std::int64_t length) {
    AttentionKind kind{.head_dim = dim, .value_dim = dim, .mask = {.right = causal}};
    if (skips) kind.expressions = {.mask = true, .skip = true, .whole = true};
    return rank(kind, {.batch = batch, .heads = heads, .kv_heads = heads, .queries = length, .keys = length}, {})
        .front()
        .plan.keys;
  };
  for (const int dim : {64, 128, 256}) {
    EXPECT_EQ(keys_of(dim, false, true, 1, 16, 16384), keys_of(dim, false, false, 1, 16, 16384)) << dim;
    const bool wide = dim == 256;
    EXPECT_EQ(keys_of(dim, true, true, 1, 16, 16384), keys_of(dim, true, false, wide ? 1 : 8, 16, wide ? 16384 : 2048))
        << dim;
  }
  for (const std::int64_t heads : {4, 8, 14, 16, 40})
    for (const std::int64_t length : {8192, 16384}) EXPECT_EQ(keys_of(128, true, true, 1, heads, length), 128) << heads;
  EXPECT_EQ(keys_of(128, true, false, 1, 16, 16384), 176);
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
          EXPECT_LE(ranking[i == 0 ? 0 : i - 1].seconds, ranking[i].seconds);
        }
        EXPECT_EQ(ranking.front().plan.groups == 1, queries <= 64);
      }
}

TEST(AttentionRanking, CountsTheStepsThatAMaskLeaves) {
  AttentionKind kind;
  const AttentionPlan plan{.kind = kind, .keys = 128};
  const AttentionShape shape{.batch = 64, .queries = 1024, .keys = 1024};
  EXPECT_DOUBLE_EQ(estimate(plan, shape, {}).steps, 8);
  AttentionPlan causal = plan;
  causal.kind.mask.right = true;
  EXPECT_DOUBLE_EQ(estimate(causal, shape, {}).steps, 4.5);
  AttentionPlan window = causal;
  window.kind.mask.left = true;
  AttentionShape with_window = shape;
  with_window.left = 128;
  EXPECT_DOUBLE_EQ(estimate(window, with_window, {}).steps, (1 + 2 * 7) / 8.);
  EXPECT_LT(estimate(causal, shape, {}).seconds, estimate(plan, shape, {}).seconds);
}

TEST(AttentionRanking, MakesWeightsEarlyForWideHeadsOfE4m3WhereThereAreRegisters) {
  AttentionKind kind{.element = DType::e4m3, .head_dim = 256, .value_dim = 256};
  const AttentionShape shape{4, 8, 8, 4096, 4096};
  EXPECT_EQ(text_of(rank(kind, shape, {}).front().plan), "128x96 s2 o2 noturns early");
  kind.mask.right = true;
  EXPECT_EQ(text_of(rank(kind, shape, {}).front().plan), "128x96 s2 o2 noturns early");
  kind.sequences = true;
  EXPECT_EQ(text_of(rank(kind, shape, {}).front().plan), "128x96 s2 o2");
}

// As measured on an H200 (docs/attention.md).
TEST(AttentionRanking, LeavesTurnsOutWhereASoftcapMakesWeightsLong) {
  const auto taken = [](AttentionKind kind, const AttentionShape& shape) {
    kind.cap(60);
    return text_of(rank(kind, shape, {}).front().plan);
  };
  for (const bool causal : {false, true}) {
    AttentionKind kind{.head_dim = 64, .value_dim = 64, .mask = {.right = causal}};
    EXPECT_EQ(taken(kind, {2, 32, 32, 4096, 4096}), "192x128 s2 q2 o2 noturns");
    kind.head_dim = kind.value_dim = 128;
    EXPECT_EQ(taken(kind, {1, 16, 16, 8192, 8192}), causal ? "128x128 s2 o2 noturns early" : "128x176 s2 o1 noturns");
    EXPECT_EQ(taken(kind, {4, 16, 16, 4096, 4096}), "128x128 s2 o2 noturns early");
    kind.head_dim = kind.value_dim = 256;
    EXPECT_EQ(taken(kind, {1, 8, 8, 8192, 8192}), "128x80 s2 o0");
  }
}

TEST(AttentionRanking, TakesTheSamePlansWithALowSoftcapAsWithNone) {
  for (const int dim : {64, 128, 256})
    for (const bool causal : {false, true}) {
      AttentionKind kind{.head_dim = dim, .value_dim = dim, .mask = {.right = causal}};
      const AttentionShape shape{2, 16, 16, 4096, 4096};
      const std::string plain = text_of(rank(kind, shape, {}).front().plan);
      kind.cap(AttentionKind::most_low_cap);
      EXPECT_TRUE(rank(kind, shape, {}).front().plan.grounded());
      EXPECT_EQ(text_of(rank(kind, shape, {}).front().plan), plain);
      kind.element = DType::f16;  // whose powers have no room
      EXPECT_FALSE(rank(kind, shape, {}).front().plan.grounded());
    }
}

// Kernels that do not care how low a cap is are compiled once.
TEST(AttentionPlan, IsCompiledForALowCapWhereItHasAUseForIt) {
  AttentionKind low, high;
  low.cap(30), high.cap(60);
  const auto same = [&](auto change) {
    AttentionPlan a{.kind = low}, b{.kind = high};
    change(a), change(b);
    return a.compiled() == b.compiled();
  };
  EXPECT_FALSE(same([](AttentionPlan&) {}));
  EXPECT_TRUE(same([](AttentionPlan& plan) { plan.kind.element = DType::f16; }));
  EXPECT_TRUE(same([](AttentionPlan& plan) { plan.kind.alibi = Alibi::before; }));
  EXPECT_TRUE(same([](AttentionPlan& plan) { plan.instruction = TensorInstruction::tcgen05; }));
}

TEST(AttentionRanking, EstimatesE4m3AsItWasMeasuredAndTakesTheFastest) {
  struct Row {
    AttentionShape shape;
    int dim;
    bool causal;
    const char* plan;
    double us;
    bool fastest;
  };
  const AttentionShape d64{2, 32, 32, 8192, 8192}, d128{2, 16, 16, 8192, 8192}, d256{4, 8, 8, 4096, 4096};
  for (const Row& row : {Row{d64, 64, false, "192x128 s2 o2", 1726.8, true},
                         {d64, 64, false, "192x96 s2 o2", 2003.6, false},
                         {{1, 32, 32, 16384, 16384}, 64, true, "192x128 s2 o2", 1884.1, true},
                         {d128, 128, false, "128x192 s2 o2", 1183.5, true},
                         {d128, 128, false, "128x160 s2 o2", 1255.3, false},
                         {d128, 128, false, "128x128 s2 o2", 1290.4, false},
                         {d128, 128, true, "128x192 s2 o2", 632.9, true},
                         {{1, 16, 16, 16384, 16384}, 128, true, "128x192 s2 o2", 1185.5, true},
                         {d256, 256, false, "128x96 s2 o1", 530.3, false},
                         {d256, 256, false, "128x64 s2 o2", 601.2, false},
                         {{1, 8, 8, 16384, 16384}, 256, true, "128x96 s2 o1", 1002.0, false}}) {
    AttentionKind kind{.element = DType::e4m3, .head_dim = row.dim, .value_dim = row.dim};
    kind.mask.right = row.causal;
    const AttentionPlan plan = attention_plan_from_text(row.plan, kind);
    SCOPED_TRACE(fmt::format("{} {}{}", row.plan, row.dim, row.causal ? " causal" : ""));
    EXPECT_NEAR(estimate(plan, row.shape, {}).seconds * 1e6 / row.us, 1, 0.12);
    if (row.fastest) {
      EXPECT_EQ(text_of(rank(kind, row.shape, {}).front().plan), row.plan);
    }
  }
}

// Steps of 128 keys where a causal mask would leave much of wider ones unused, wider ones where sequences are long.
TEST(AttentionRanking, TakesNarrowStepsForShortCausalSequences) {
  AttentionKind kind;
  kind.mask.right = true;
  EXPECT_EQ(rank(kind, {8, 16, 16, 2048, 2048}, {}).front().plan.keys, 128);
  EXPECT_EQ(rank(kind, {1, 16, 16, 16384, 16384}, {}).front().plan.keys, 176);
}

// Few widths of steps are shipped. By the estimate itself, over lengths, heads and windows of all sizes, those left out
// would gain little.
TEST(AttentionRanking, LosesLittleByTheWidthsItDoesNotHave) {
  std::mt19937 random(1);
  const auto up_to = [&](std::int64_t most) {  // small ones as often as large ones
    return static_cast<std::int64_t>(
        std::exp(std::uniform_real_distribution<double>(0, std::log(static_cast<double>(most + 1)))(random)));
  };
  for (const auto& [head_dim, value_dim] : {std::pair{64, 64}, {128, 128}, {192, 128}, {256, 256}})
    for (const bool few : {false, true}) {
      constexpr int shapes = 900;
      double lost = 0;
      int much = 0;
      for (int i = 0; i < shapes; ++i) {
        const AttentionKind kind{
            .head_dim = head_dim, .value_dim = value_dim, .mask = {.right = i % 3 > 0, .left = i % 3 > 1}};
        const std::int64_t heads = up_to(64), queries = few ? up_to(64) : 64 + up_to(32704);
        const AttentionShape shape{.batch = up_to(64),
                                   .heads = heads,
                                   .kv_heads = heads,
                                   .queries = queries,
                                   .keys = i % 4 && !few ? queries : up_to(32768),
                                   .left = 15 + up_to(8192),
                                   .right = i % 2 ? 0 : up_to(8192)};
        const auto ranking = rank(kind, shape, {});
        ASSERT_LE(ranking.size(), 5u);
        const double best = ranking.front().seconds;
        double any = best;
        for (AttentionPlan plan = ranking.front().plan; plan.strips >= 0; --plan.strips)
          for (plan.keys = 64; plan.keys <= 176; plan.keys += 16)
            if (plan.valid()) any = std::min(any, estimate(plan, shape, {}).seconds);
        lost += best / any - 1;
        much += best > 1.1 * any;
      }
      fmt::print("{}/{}, {} queries: {:.2f}% lost, more than a tenth by {} of {}\n", head_dim, value_dim,
                 few ? "few" : "many", 100 * lost / shapes, much, shapes);
      EXPECT_LT(lost / shapes, 0.0125);
      EXPECT_LT(much, shapes / 50);
    }
}

// Measured on an H200: 0.90 to 0.96 of the time without a mask, and with one in long sequences.
TEST(AttentionChoice, LetsPairsBringWhatBeginsInTheMiddleOfASector) {
  const auto pairs = [](int dim, const AttentionShape& shape, AttentionKind kind = {}) {
    kind.head_dim = kind.value_dim = dim;
    return rank(kind, shape, {}).front().plan.pair;
  };
  const AttentionShape longer{2, 16, 16, 8192, 8192};
  for (const int dim : {136, 152, 184, 248}) {
    EXPECT_TRUE(pairs(dim, longer)) << dim;
    EXPECT_TRUE(pairs(dim, longer, {.mask = {.right = true}})) << dim;
    EXPECT_FALSE(pairs(dim, {1, 8, 8, 128, 8192})) << dim << ": the second block would have no queries";
    EXPECT_FALSE(pairs(dim, longer, {.sequences = true})) << dim << ": blocks of a pair take the same steps";
    EXPECT_FALSE(pairs(dim, longer, {.expressions = {.mask = true, .skip = true}})) << dim;
  }
  for (const int dim : {64, 120, 128, 144, 192, 256})
    for (const AttentionPlan& plan : candidates({.head_dim = dim, .value_dim = dim}, false))
      EXPECT_FALSE(plan.pair) << text_of(plan);
  EXPECT_FALSE(rank({.head_dim = 248, .value_dim = 248}, longer, {.multiprocessors = 1}).front().plan.pair);
  const AttentionPlan narrow{.kind = {.sequences = true}, .pair = true};
  EXPECT_NE(std::string_view(narrow.problem()).find("take the same steps"), std::string_view::npos);
}

TEST(AttentionPlanText, IsReadAsItIsWritten) {
  for (const AttentionPlan& plan :
       {AttentionPlan{}, AttentionPlan{.keys = 176, .groups = 3, .stages = 4, .strips = 0, .turns = false},
        AttentionPlan{.stages = 3, .q_stages = 2}, AttentionPlan{.keys = 80, .strips = 0, .pair = true},
        AttentionPlan{.instruction = TensorInstruction::tcgen05, .tiles = TileSource::claims},
        AttentionPlan{.instruction = TensorInstruction::tcgen05, .fma_pairs = 3, .tiles = TileSource::share},
        AttentionPlan{.instruction = TensorInstruction::tcgen05, .tiles = TileSource::claims, .pair = true}}) {
    const AttentionPlan read = attention_plan_from_text(text_of(plan), plan.kind);
    EXPECT_EQ(read, plan) << text_of(plan);
  }
  for (const char* const text :
       {"", "128", "100x64", "128x64 s0", "128x64 q0", "128x64 o-1", "128x64 x", "0x64", "128x64 noturns2"})
    EXPECT_THROW(attention_plan_from_text(text), Error) << text;
}

TEST(AttentionChoice, TakesAMeasuredPlanOfExactlyThisAttention) {
  AttentionKind kind{.mask = {.right = true}};
  const AttentionShape shape{4, 16, 4, 4096, 4000};
  TunedPlans plans;
  plans.set(TunedAttention{key_of("Chip", kind, shape), "128x64 s2 o1", 500});
  const auto plan_of = [&](const AttentionKind& asked, const AttentionShape& sizes, std::string_view chip) {
    return choose(asked, sizes, {}, chip, plans).value();
  };
  EXPECT_TRUE(plan_of(kind, shape, "Chip").tuned);
  EXPECT_EQ(text_of(plan_of(kind, shape, "Chip").plan), "128x64 s2 o1");
  EXPECT_FALSE(plan_of(kind, shape, "Other").tuned);
  AttentionShape longer = shape;
  ++longer.keys;
  EXPECT_FALSE(plan_of(kind, longer, "Chip").tuned);
  kind.mask.right = false;
  EXPECT_FALSE(plan_of(kind, shape, "Chip").tuned);
}

TEST(AttentionChoice, IsWrittenIntoTheTableAndReadBack) {
  const AttentionKind kinds[] = {{},
                                 {.element = DType::f16, .head_dim = 192, .value_dim = 128, .mask = {.right = true}},
                                 {.mask = {.right = true, .left = true}, .softcap = true, .sequences = true}};
  TunedPlans plans;
  AttentionShape shape{
      .batch = 4, .heads = 16, .kv_heads = 2, .queries = 100, .keys = 4096, .left = 7, .align_ends = false};
  for (const AttentionKind& kind : kinds)
    plans.set(TunedAttention{key_of("NVIDIA H200", kind, shape), "128x176 s2 o1", 5});
  plans.set(TunedAttention{key_of("NVIDIA H200", kinds[0], shape), "128x64 s2 o1", 4});
  std::vector<std::string> problems;
  const TunedPlans read = TunedPlans::from_text(plans.text(), "file", problems);
  EXPECT_TRUE(problems.empty()) << problems.front();
  ASSERT_EQ(read.attentions().size(), 3u) << plans.text();
  for (const AttentionKind& kind : kinds)
    EXPECT_NE(read.find(key_of("NVIDIA H200", kind, shape)), nullptr) << plans.text();
  EXPECT_EQ(read.find(key_of("NVIDIA H200", kinds[0], shape))->plan, "128x64 s2 o1");
  for (const char* const wrong :
       {"C | attention bf16 | 1x1/1x1/1 | 128x64 | 1 us", "C | attention bf16 64 64 up | 1x1/1x1/1 | 128x64 | 1 us",
        "C | attention bf16 64 64 right | 1x1/1x1/1 | 128x64 | 1 us",
        "C | attention bf16 64 64 | 1x1x1 | 128x64 | 1 us", "C | attention bf16 64 64 | 1x1/1x1/1 | 128 | 1 us",
        "C | attention bf16 64 64 | 1x1/1x1/1 | 128x64 | 1 ms", "C | attention bf16 64 64 | 1x1/1x1/1 | 128x64"}) {
    problems.clear();
    TunedPlans::from_text(wrong, "file", problems);
    EXPECT_EQ(problems.size(), 1u) << wrong;
  }
}

TEST(AttentionMaskLimits, HaveAFarOneToTheRightWhereThereIsOneToTheLeftAlone) {
  const MaskLimits limits = limits_of(7, std::nullopt);
  EXPECT_EQ(limits.facts, (MaskFacts{.right = true, .left = true}));
  EXPECT_EQ(limits.right, most_positions);
  EXPECT_FALSE((AttentionPlan{.kind = {.mask = {.left = true}}}).valid());
  const AttentionKind kind{.mask = limits.facts};
  const AttentionShape shape{.queries = 10, .keys = 10, .left = limits.left, .right = limits.right};
  TunedPlans plans;
  plans.set(TunedAttention{key_of("Chip", kind, shape), "128x64 s2 o1", 4});
  EXPECT_NE(plans.text().find("attention bf16 128 128 left 7 |"), std::string::npos) << plans.text();
  std::vector<std::string> problems;
  EXPECT_NE(TunedPlans::from_text(plans.text(), "file", problems).find(key_of("Chip", kind, shape)), nullptr);
}

}  // namespace wm::plan
