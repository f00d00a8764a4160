// GEMM plans: what fits the chip, what is refused in words, plans as text.
#include <gtest/gtest.h>

#include "plan/gemm_candidates.hpp"
#include "plan/gemm_plan_text.hpp"
#include "warpmill/error.hpp"

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

TEST(GemmPlan, EveryCandidateWithTensorMemoryFitsTheChip) {
  for (const DType type : {DType::bf16, DType::e4m3, DType::f32, DType::i8}) {
    const auto plans = candidate_plans({.a = type, .b = type}, TensorInstruction::tcgen05);
    EXPECT_GE(plans.size(), 20u);
    for (const GemmPlan& plan : plans) {
      EXPECT_EQ(plan.problem(), nullptr);
      EXPECT_LE(plan.shared_bytes(), 232448);
      EXPECT_LE(plan.registers(), 65536);
      EXPECT_GE(plan.tensor_columns(), 2 * plan.tile.n);
      EXPECT_LE(plan.tensor_columns(), 512);
      EXPECT_EQ(plan.tensor_columns() & (plan.tensor_columns() - 1), 0);
    }
  }
  // What threads must bring is served too.
  EXPECT_FALSE(
      candidate_plans({.a_producer = Producer::elements, .b_producer = Producer::elements}, TensorInstruction::tcgen05)
          .empty());
}

TEST(GemmPlan, SaysWhatIsWrongWithAnImpossiblePlanOfTensorMemory) {
  const auto problem = [](GemmPlan plan) {
    plan.instruction = TensorInstruction::tcgen05;
    return std::string(plan.problem() ? plan.problem() : "");
  };
  const GemmPlan fits{.tile = {128, 128}, .stages = 4, .cluster = {2, 1}, .multiply_groups = 1, .pair = true};
  EXPECT_EQ(problem(fits), "");
  EXPECT_NE(std::string(fits.problem()).find("only tcgen05"), std::string::npos);
  const auto changed = [&](const auto& change) {
    GemmPlan plan = fits;
    change(plan);
    return problem(plan);
  };
  EXPECT_NE(std::string(GemmPlan{.claim = true}.problem()).find("only tcgen05"), std::string::npos);
  EXPECT_NE(changed([](GemmPlan& p) {
              p.claim = true, p.pair = false, p.cluster = {1, 1}, p.kind = p.kind.without_tma();
            }).find("claimed beside the copy engine"),
            std::string::npos);
  EXPECT_NE(changed([](GemmPlan& p) { p.cluster = {1, 2}; }).find("cluster of 2x1"), std::string::npos);
  EXPECT_NE(changed([](GemmPlan& p) { p.tile.m = 64; }).find("128 rows each"), std::string::npos);
  EXPECT_NE(changed([](GemmPlan& p) { p.pair = false, p.tile.m = 192; }).find("64 or 128 rows"), std::string::npos);
  EXPECT_NE(changed([](GemmPlan& p) { p.multiply_groups = 3; }).find("one or two groups"), std::string::npos);
  EXPECT_NE(changed([](GemmPlan& p) { p.split = true; }).find("no split"), std::string::npos);
  EXPECT_NE(changed([](GemmPlan& p) { p.pipelining = Pipelining::multistage; }).find("cooperative"), std::string::npos);
  EXPECT_NE(changed([](GemmPlan& p) { p.kind.a = p.kind.b = DType::i8, p.tile.n = 48; }).find("of 32 for two blocks"),
            std::string::npos);
  EXPECT_NE(changed([](GemmPlan& p) { p.kind.a = p.kind.b = DType::e4m3, p.kind.promote = true; }).find("promotion"),
            std::string::npos);
}

TEST(GemmPlan, SaysWhatIsWrongWithAnImpossiblePlan) {
  const auto problem = [](const GemmPlan& plan) { return std::string(plan.problem() ? plan.problem() : ""); };
  EXPECT_NE(problem({.tile = {128, 256}, .stages = 5}).find("shared memory"), std::string::npos);
  EXPECT_NE(problem({.tile = {128, 250}}).find("multiple of 16"), std::string::npos);
  EXPECT_EQ(problem({.tile = {128, 8}}), "");
  EXPECT_NE(problem({.kind = {.b_major = Major::mn}, .tile = {128, 8}}).find("along k"), std::string::npos);
  EXPECT_NE(problem({.kind = {.d = DType::e4m3}, .tile = {128, 8}}).find("16 bytes"), std::string::npos);
  EXPECT_NE(problem({.tile = {128, 8}, .cluster = {1, 1, 2}}).find("64 rows"), std::string::npos);
  EXPECT_NE(problem(plan_from_text("128x8 c1x1x2")).find("64 rows"), std::string::npos);
  EXPECT_NE(problem({.tile = {128, 64}, .cluster = {1, 1}, .spread = true}).find("spread"), std::string::npos);
  EXPECT_NE(problem({.tile = {128, 64}, .cluster = {1, 1, 2}, .split = true, .spread = true}).find("spread"),
            std::string::npos);
  EXPECT_NE(problem({.tile = {96, 128}}).find("tile.m"), std::string::npos);
  EXPECT_NE(problem({.tile = {128, 128}, .stages = 1}).find("2 stages"), std::string::npos);
  EXPECT_NE(problem({.tile = {128, 128}, .cluster = {8, 2}}).find("cluster"), std::string::npos);
  EXPECT_NE(problem({.tile = {128, 128}, .cluster = {16, 1}}).find("cluster"), std::string::npos);
  EXPECT_EQ(problem({.tile = {128, 128}, .stages = 4, .cluster = {8, 1}}), "");
  EXPECT_EQ(problem({.tile = {128, 64}, .cluster = {2, 1, 2}}), "");
  EXPECT_NE(problem({.tile = {128, 64}, .cluster = {2, 2, 4}}).find("cluster"), std::string::npos);
  EXPECT_NE(problem({.pipelining = Pipelining::pingpong, .tile = {128, 64}, .cluster = {1, 1, 2}}).find("cooperative"),
            std::string::npos);
  EXPECT_NE(problem({.tile = {128, 64}, .cluster = {1, 1, 9}}).find("cluster"), std::string::npos);
  EXPECT_NE(problem({.tile = {256, 256}, .stages = 2}).find("sums"), std::string::npos);
  EXPECT_NE(problem({.tile = {192, 256}, .stages = 2, .multiply_groups = 3}).find("so many columns"),
            std::string::npos);
  EXPECT_NE(problem({.tile = {384, 32}, .stages = 3, .multiply_groups = 3}).find("256 rows"), std::string::npos);
  EXPECT_EQ(problem({.tile = {384, 32}, .stages = 3, .cluster = {1, 2}, .multiply_groups = 3}), "");
  EXPECT_EQ(problem({.kind = {.a_major = Major::mn}, .tile = {384, 32}, .stages = 3, .multiply_groups = 3}), "");
}

TEST(GemmPlan, IsTheSameAfterItsTextIsRead) {
  for (const DType type : {DType::bf16, DType::e4m3, DType::f32})
    for (const GemmPlan& plan : candidate_plans({.a = type, .b = type}))
      EXPECT_EQ(plan_from_text(text_of(plan), plan.exchange ? plan.kind.transposed() : plan.kind), plan)
          << text_of(plan);
  for (const GemmPlan& plan : candidate_plans({}, TensorInstruction::tcgen05))
    EXPECT_EQ(plan_from_text(text_of(plan), plan.exchange ? plan.kind.transposed() : plan.kind), plan) << text_of(plan);
  const GemmPlan plan = plan_from_text("192x96 s5 c1x2 g3 multistage");
  EXPECT_EQ(text_of(plan), "192x96 s5 c1x2 g3 multistage");
  EXPECT_EQ(text_of(plan_from_text("128x64 s3 c2x1 g1 claim pair")), "128x64 s3 c2x1 g1 pair claim");
  EXPECT_EQ(plan_from_text("128x256"), (GemmPlan{.tile = {128, 256}, .stages = 4, .cluster = {1, 1}}));
}

TEST(GemmPlan, SaysWhatIsWrongWithAText) {
  const auto problem = [](const char* text) -> std::string {
    try {
      plan_from_text(text);
    } catch (const Error& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_NE(problem("128x256 s4 fast").find("'fast' is no part of a plan"), std::string::npos);
  EXPECT_NE(problem("s4 c2x1").find("has no tile"), std::string::npos);
  EXPECT_NE(problem("").find("has no tile"), std::string::npos);
  for (const char* text : {"128x", "128x256x64", "128x-8", "s", "128x128 s", "128x128 cx2", "128x128 c1x1x",
                           "128x128 c1x1x2x2", "128x128 s0", "128x128 g99999999999"})
    EXPECT_NE(problem(text).find("'128x256 s4 c2x1'"), std::string::npos) << text;
}
