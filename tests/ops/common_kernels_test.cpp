// What is compiled ahead is what calls need: whatever plan an attention of the usual kinds takes is there, or compiles
// quickly.
#include "ops/common_kernels.hpp"

#include <cmath>
#include <random>
#include <set>
#include <utility>

#include <gtest/gtest.h>

#include "ops/attention_kernel.hpp"
#include "plan/attention_choice.hpp"
#include "plan/attention_plan_text.hpp"

namespace wm::ops {

TEST(CommonKernels, HoldWhateverPlanAnAttentionTakesUnlessItCompilesQuickly) {
  std::set<std::string> ahead;
  for (const KernelSource& kernel : common_kernels()) EXPECT_TRUE(ahead.insert(kernel.expression).second);
  std::vector<std::string> problems;
  const auto tuned = plan::TunedPlans::from_text(plan::shipped_plans_text(), "", problems);
  std::mt19937 random(1);
  const auto up_to = [&](std::int64_t most) {  // small ones as often as large ones
    return static_cast<std::int64_t>(
        std::exp(std::uniform_real_distribution<double>(0, std::log(static_cast<double>(most + 1)))(random)));
  };
  constexpr std::pair<int, int> dims[] = {{64, 64}, {128, 128}, {192, 128}, {256, 256}};
  std::set<std::string> taken;
  for (int i = 0; i < 7000; ++i) {
    const auto& [head_dim, value_dim] = dims[i % 4];
    AttentionKind kind{.element = i / 4 % 2 ? DType::f16 : DType::bf16, .head_dim = head_dim, .value_dim = value_dim};
    kind.mask = {.right = i / 8 % 3 > 0, .left = i / 8 % 3 > 1};
    kind.cap(i / 24 % 2 ? 30 : 0);
    kind.sequences = i / 48 % 2;
    const bool narrow = i >= 6000 && head_dim == value_dim;  // in e4m3 the plain ones
    if (narrow) kind = {.element = DType::e4m3, .head_dim = head_dim, .value_dim = value_dim, .mask = kind.mask};
    kind.mask.left &= !narrow;
    plan::AttentionShape shape{.batch = up_to(32), .kv_heads = up_to(32), .queries = up_to(32768)};
    shape.heads = shape.kv_heads * up_to(8);
    shape.keys = i % 5 ? shape.queries : up_to(32768);
    shape.left = up_to(4096), shape.right = i % 3 ? 0 : up_to(4096), shape.align_ends = i % 7 > 0;
    kind.lengths = !kind.sequences && !narrow && i % 11 == 0;
    if (narrow) shape.heads = shape.kv_heads;
    const AttentionPlan plan = plan::choose(kind, shape, {}, "NVIDIA H200", tuned).value().plan;
    const std::string expression = attention_source(plan).expression;
    if (kind.lengths && plan.packed == 0) continue;  // a cache with room is for a few queries
    ASSERT_TRUE(compiles_quickly(plan) || ahead.contains(expression)) << plan::text_of(plan) << ": " << expression;
    if (ahead.contains(expression)) taken.insert(expression);
  }
  EXPECT_GT(taken.size(), ahead.size() / 2) << "most of what is compiled ahead is for something";
}

}  // namespace wm::ops
