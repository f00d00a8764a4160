// Attention in tensor memory: what binds it by the arithmetic of its steps, and the plans it takes.
#include "plan/attention_tensor_memory.hpp"

#include <gtest/gtest.h>

#include "plan/attention_choice.hpp"
#include "plan/attention_plan_text.hpp"

namespace wm::plan {

// The arithmetic of docs/blackwell.md: what binds a step of two groups by 128 keys, in clocks.
TEST(AttentionInTensorMemory, IsBoundByExponentialsOfSmallHeadsAndByTheWayRoundOfLargeOnes) {
  const auto clocks = [](int dim, int fma_pairs) {
    return clocks_of({.kind = {.head_dim = dim, .value_dim = dim},
                      .instruction = TensorInstruction::tcgen05,
                      .fma_pairs = fma_pairs});
  };
  const AttentionClocks small = clocks(64, 3), large = clocks(128, 3), none = clocks(128, 0);
  EXPECT_EQ(small.products, 1024);
  EXPECT_EQ(small.exponentials, 1664);  // 2 x 128 x 128 x 13/16, 16 a clock
  EXPECT_EQ(small.shared, 768);
  EXPECT_EQ(small.binds(), "exponentials");
  EXPECT_EQ(small.step(), 1664);
  EXPECT_EQ(large.products, 2048);
  EXPECT_EQ(large.shared, 1536);
  EXPECT_EQ(large.copies, 1024);
  EXPECT_EQ(large.binds(), "chain");
  EXPECT_GT(large.step(), large.products);
  EXPECT_LT(large.step(), 1.1 * large.products);
  EXPECT_EQ(none.exponentials, 2048) << "as many as the tensor cores take: hence the FMA units";
  EXPECT_LT(none.instructions, large.instructions);
}

// Products and reads of shared memory take half the clocks, exponentials what they took: more of them are made by FMA.
TEST(AttentionInTensorMemory, HalvesProductsInE4m3AndMakesMoreExponentialsByFma) {
  ChipRates rates;
  rates.instruction = TensorInstruction::tcgen05;
  for (const int dim : {64, 128}) {
    const AttentionKind kind{.element = DType::e4m3, .head_dim = dim, .value_dim = dim};
    const AttentionPlan plan = rank(kind, {1, 32, 32, 16384, 16384}, rates).front().plan;
    const AttentionClocks clocks = clocks_of(plan);
    EXPECT_EQ(plan.fma_pairs, 6);
    EXPECT_EQ(plan.stages, 4);
    EXPECT_EQ(clocks.products, 8 * dim);
    EXPECT_EQ(clocks.shared, 6 * dim);
    EXPECT_EQ(clocks.exponentials, 1280);
    EXPECT_EQ(clocks.binds(), dim == 64 ? "instructions" : "chain");
    EXPECT_LT(clocks.instructions, 1.05 * clocks.exponentials) << "neither waits for the other";
  }
}

// Heads of 192 with values of 128: a block alone has room for one stage of 128 keys, whose copies nothing hides.
TEST(AttentionInTensorMemory, IsMadeByTwoBlocksWhereTheirHalvesOfKeysAndValuesMakeRoomForAnotherStage) {
  const AttentionKind wide{.head_dim = 192, .value_dim = 128};
  const auto plan_of = [](const AttentionKind& kind, int stages, bool pair) {
    return AttentionPlan{.kind = kind,
                         .stages = stages,
                         .instruction = TensorInstruction::tcgen05,
                         .fma_pairs = 3,
                         .tiles = TileSource::share,
                         .pair = pair};
  };
  EXPECT_FALSE(plan_of(wide, 2, false).valid());
  EXPECT_TRUE(plan_of(wide, 2, true).valid());
  const AttentionClocks alone = clocks_of(plan_of(wide, 1, false)), two = clocks_of(plan_of(wide, 2, true));
  EXPECT_EQ(two.copies, alone.copies / 2);
  EXPECT_EQ(two.shared, 2 * (192 * 256 + 64 * 384 + 128 * 128) / 128.);  // Q; half of the keys, half of each value
  EXPECT_EQ(two.products, alone.products);
  EXPECT_EQ(two.chain, alone.chain - 600 - alone.copies + 2 * 34 + 100);
  ChipRates rates;
  rates.instruction = TensorInstruction::tcgen05;
  const AttentionShape shape{1, 32, 32, 16384, 16384};
  EXPECT_EQ(text_of(rank(wide, shape, rates).front().plan), "512x128 s2 o1 tcgen05 pair fma3 share");
  rates.multiprocessors = 1;
  EXPECT_FALSE(rank(wide, shape, rates).front().plan.pair) << "there is room for one block";
  rates.multiprocessors = 148;
  // Where a block alone has two stages, nobody waits for copies or for shared memory, and two blocks have further to
  // go.
  EXPECT_EQ(text_of(rank({}, shape, rates).front().plan), "256x128 s2 o1 tcgen05 fma3");
  EXPECT_EQ(clocks_of(plan_of({}, 2, true)).shared, 1024);
  EXPECT_FALSE((AttentionPlan{.instruction = TensorInstruction::tcgen05, .pair = true}).valid()) << "one has a counter";
}

TEST(AttentionInTensorMemory, HasAPlanForEveryValueDimThatFitsAndSaysWhatDoesNot) {
  ChipRates rates;
  rates.instruction = TensorInstruction::tcgen05;
  for (const int dim : {8, 40, 64, 96, 128, 192, 256})
    for (const int value_dim : {8, 64, 72, 128})
      for (const bool documents : {false, true}) {
        AttentionKind kind{.head_dim = dim, .value_dim = value_dim, .mask = {.right = true}};
        if (dim % 16 == 0 && value_dim % 16 == 0 && documents) kind.element = DType::e4m3;
        if (documents) kind.expressions = {.mask = true, .skip = true};
        const auto ranking = rank(kind, {1, 8, 2, 5000, 5000}, rates);
        ASSERT_FALSE(ranking.empty()) << dim << "/" << value_dim;
        for (const AttentionEstimate& e : ranking) {
          EXPECT_TRUE(e.plan.valid() && e.plan.tensor_memory()) << text_of(e.plan);
          EXPECT_EQ(attention_plan_from_text(text_of(e.plan), kind), e.plan);
        }
      }
  EXPECT_GT(rank({.head_dim = 192, .value_dim = 128}, {1, 8, 8, 5000, 5000}, rates).front().plan.stages, 1)
      << "copies of a single stage are hidden behind nothing";
  EXPECT_EQ(rank({}, {2, 8, 2, 5, 5000}, rates).front().plan.packed, 8);
  EXPECT_TRUE(rank({.head_dim = 256, .value_dim = 256}, {1, 8, 8, 5000, 5000}, rates).empty());
  EXPECT_NE(why_none({.head_dim = 256, .value_dim = 256}, rates.instruction).find("a value dim is 8 to 128"),
            std::string_view::npos);
}

// 3 multiprocessors, 7 tiles of 1 to 7 times 256 keys. Asked for they come to a third of 28 each, in shares to 7 + 4
// + 1.
TEST(AttentionInTensorMemory, InSharesTakesAsLongAsTheFirstBlocks) {
  const ChipRates rates{.multiprocessors = 3, .instruction = TensorInstruction::tcgen05};
  AttentionPlan plan{.kind = {.mask = {.right = true}}, .instruction = TensorInstruction::tcgen05};
  const AttentionShape shape{.queries = 7 * 256, .keys = 7 * 256};
  const AttentionEstimate asked = estimate(plan, shape, rates);
  plan.tiles = TileSource::share;
  const AttentionEstimate shared = estimate(plan, shape, rates);
  const double steps = 2 * (7 + 4 + 1 - 28. / 3), tiles = 3 - 7. / 3;  // the longer one's, of 128 keys
  EXPECT_NEAR(shared.seconds - asked.seconds, steps * asked.step_seconds + tiles * asked.tile_seconds, 1e-12);
}

}  // namespace wm::plan
