// Random products: types, layouts, epilogues and plans drawn from a seed, each on many shapes and strides.
//
// A recipe is what one kernel is compiled for; shapes are drawn so that they keep to it. As many
// products are made as the settings or the environment's GEMM_TEST_CASES say.
#include <algorithm>
#include <random>

#include "ops/gemm_fixture.hpp"
#include "plan/gemm_plan_text.hpp"

namespace wm::test {

using enum DType;

namespace {

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : random_(seed) {}
  std::int64_t below(std::int64_t limit) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(limit));
  }
  bool one_in(std::int64_t times) { return below(times) == 0; }
  template <class T>
  T of(std::initializer_list<T> choices) {
    return choices.begin()[below(static_cast<std::int64_t>(choices.size()))];
  }

 private:
  std::mt19937_64 random_;
};

// Where a matrix's lines may begin: at multiples of so many bytes, and of no more.
struct Alignment {
  std::int64_t a, b, c, d;
};

struct Recipe {
  GemmCase form;  // without sizes
  Alignment alignment;
};

EpilogueCase random_epilogue(Dice& dice, const GemmCase& c) {
  EpilogueCase e;
  if (c.d == i32) return e;
  // Sums of i8 are large: they need a factor to stay in f16's range, and expressions of them their slopes.
  if (c.a == i8) e.alpha = 0x1p-9f;
  if (dice.one_in(2)) return e;
  if (dice.one_in(3)) e.alpha *= -0.5f;
  if (dice.one_in(3)) {
    e.beta = 0.75f;
    e.c = dice.of({bf16, f16, f32});
    e.c_layout.columns = dice.one_in(3);
    e.in_place = c.d != e4m3 && dice.one_in(2);
  }
  if (dice.one_in(3)) e.row_scale = dice.of({Scale::tensor, Scale::each});
  if (dice.one_in(3)) e.column_scale = dice.of({Scale::tensor, Scale::each});
  const DType bias = dice.of({f32, bf16, f16});
  if (dice.one_in(3)) e.row_bias = bias;
  if (dice.one_in(3)) e.column_bias = bias;
  e.activation = dice.of({Activation::none, Activation::none, Activation::relu, Activation::gelu_tanh,
                          Activation::gelu_erf, Activation::silu, Activation::expression});
  if (e.activation == Activation::expression) e.expression = "x * sigmoid(1.702f * x)";
  e.amax = dice.one_in(4);
  e.d_scale = dice.one_in(4);
  return e;
}

// Blocks that a cluster may have, and whether the copy engine may bring operands to all of them.
struct Clusters {
  int most = 1;
  bool share = false;
};

// Each block brings a part of what they share, or where a tile has fewer equal parts, some of them do.
ClusterShape random_cluster(Dice& dice, Clusters clusters) {
  while (clusters.share) {
    const ClusterShape cluster{dice.of({1, 2, 4, 8}), dice.of({1, 2, 4, 8})};
    if (cluster.m * cluster.n <= clusters.most) return cluster;
  }
  return {1, 1};
}

std::string random_tensor_memory_plan(Dice& dice, Clusters clusters) {
  GemmPlan plan{.instruction = TensorInstruction::tcgen05,
                .tile = {dice.of({64, 128, 128}), 16 * int(1 + dice.below(16))},
                .stages = int(2 + dice.below(3)),
                .multiply_groups = dice.of({1, 1, 2})};
  plan.pair = clusters.share && dice.one_in(2);
  plan.cluster = plan.pair ? ClusterShape{2, 1} : random_cluster(dice, clusters);
  plan.exchange = dice.one_in(3);
  return plan::text_of(plan);
}

std::string random_mma_tma_plan(Dice& dice) {
  GemmPlan plan{.instruction = TensorInstruction::mma_tma, .stages = int(2 + dice.below(3)), .cluster = {1, 1}};
  plan.multiply_groups = dice.of({1, 2});
  plan.tile = {plan.multiply_groups * dice.of({64, 64, 128}), 16 * int(1 + dice.below(8))};
  plan.split = dice.one_in(3);
  plan.exchange = dice.one_in(3);
  return plan::text_of(plan);
}

std::string random_wgmma_plan(Dice& dice, Clusters clusters) {
  GemmPlan plan{.tile = {0, 16 * int(1 + dice.below(16))},
                .stages = int(2 + dice.below(3)),
                .cluster = random_cluster(dice, clusters)};
  plan.pipelining = dice.of({Pipelining::cooperative, Pipelining::cooperative, Pipelining::pingpong});
  if (plan.pipelining == Pipelining::pingpong) {
    plan.tile.m = dice.of({64, 128});
  } else {
    plan.multiply_groups = int(1 + dice.below(3));
    plan.tile.m = plan.multiply_groups * dice.of({64, 64, 128});
    plan.split = dice.one_in(3);
    if (dice.one_in(3)) plan.cluster.k = std::min(dice.of({2, 3, 4, 8}), clusters.most / plan.cluster_size());
    plan.spread = plan.split && plan.cluster.k == 1 && dice.one_in(2);
  }
  if (plan.pipelining == Pipelining::cooperative && plan.cluster_size() == 1 && dice.one_in(3)) {
    plan.pipelining = Pipelining::multistage;
    plan.instruction = dice.of({TensorInstruction::wgmma, TensorInstruction::mma});
  }
  plan.exchange = dice.one_in(3);
  return plan::text_of(plan);
}

std::string random_plan(Dice& dice, TensorInstruction instruction, Clusters clusters) {
  switch (instruction) {
    case TensorInstruction::tcgen05: return random_tensor_memory_plan(dice, clusters);
    case TensorInstruction::mma_tma: return random_mma_tma_plan(dice);
    default: return random_wgmma_plan(dice, clusters);
  }
}

Recipe random_recipe(Dice& dice, bool promotes) {
  Recipe recipe;
  GemmCase& c = recipe.form;
  c.a = c.b = dice.of({bf16, bf16, f16, f32, i8, e4m3, e5m2});
  const bool small = c.a == e4m3 || c.a == e5m2;
  if (small && dice.one_in(3)) c.b = c.b == e4m3 ? e5m2 : e4m3;
  c.promote = small && promotes && dice.one_in(3);
  c.d = dice.of({bf16, bf16, f16, f32, e4m3});
  if (c.a == i8 && dice.one_in(2)) c.d = i32;
  c.a_layout.columns = dice.one_in(3);
  c.b_layout.columns = !dice.one_in(3);
  c.d_layout.columns = dice.one_in(4);
  for (Layout* layout : {&c.a_layout, &c.b_layout, &c.d_layout})
    if (dice.one_in(12)) layout->step = 2;
  if (dice.one_in(3)) {
    c.batch = 3;
    c.listed = dice.one_in(2);
    c.a_layout.repeated = dice.one_in(4);
    c.b_layout.repeated = dice.one_in(4);
  }
  c.epilogue = random_epilogue(dice, c);
  const bool aligned = !dice.one_in(3);  // the copy engine needs 16 bytes everywhere
  const auto bytes = [&](DType dtype) {
    return std::max<std::int64_t>(aligned ? 16 : dice.of({16, 8, 4, 2, 1}), std::int64_t(size_of(dtype)));
  };
  recipe.alignment = {bytes(c.a), bytes(c.b), std::int64_t(size_of(c.epilogue.c)), bytes(c.d)};
  return recipe;
}

std::int64_t random_size(Dice& dice) {
  const std::int64_t most =
      dice.of<std::int64_t>({20, settings.largest_product / 3, settings.largest_product / 3, settings.largest_product});
  return 1 + dice.below(most);
}

// Lines, matrices and the base at odd multiples of `bytes`.
void align(Dice& dice, Layout& layout, std::int64_t inner, std::int64_t outer, DType dtype, std::int64_t bytes) {
  const std::int64_t grain = bytes / std::int64_t(size_of(dtype));
  const auto odd_multiple = [&](std::int64_t least) {
    std::int64_t multiple = (least + grain - 1) / grain + dice.below(3);
    if (bytes < 16) multiple |= 1;
    return multiple * grain;
  };
  layout.padding = odd_multiple(inner * layout.step) - inner * layout.step;
  layout.offset = odd_multiple(0);
  const std::int64_t matrix = outer * (inner * layout.step + layout.padding);
  layout.batch_padding = odd_multiple(matrix) - matrix;
}

GemmCase random_case(Dice& dice, const Recipe& recipe) {
  GemmCase c = recipe.form;
  c.m = random_size(dice), c.n = random_size(dice), c.k = random_size(dice);
  if (c.batch) c.batch = 1 + dice.below(5);
  // Elements that do not lie side by side are another recipe only where there are two.
  const auto show_step = [](const Layout& layout, std::int64_t& rows, std::int64_t& columns) {
    std::int64_t& inner = layout.columns ? rows : columns;
    if (layout.step > 1) inner = std::max<std::int64_t>(inner, 2);
  };
  show_step(c.a_layout, c.m, c.k), show_step(c.b_layout, c.k, c.n), show_step(c.d_layout, c.m, c.n);
  // What the engine stores ends at a multiple of 16 bytes.
  if (recipe.alignment.d == 16 && c.d_layout.step == 1) {
    std::int64_t& inner = c.d_layout.columns ? c.m : c.n;
    const std::int64_t grain = 16 / std::int64_t(size_of(c.d));
    inner = (inner + grain - 1) / grain * grain;
  }
  const auto place = [&](Layout& layout, std::int64_t rows, std::int64_t columns, DType dtype, std::int64_t bytes) {
    align(dice, layout, layout.columns ? rows : columns, layout.columns ? columns : rows, dtype, bytes);
  };
  place(c.a_layout, c.m, c.k, c.a, recipe.alignment.a);
  place(c.b_layout, c.k, c.n, c.b, recipe.alignment.b);
  place(c.d_layout, c.m, c.n, c.d, recipe.alignment.d);
  place(c.epilogue.c_layout, c.m, c.n, c.epilogue.c, recipe.alignment.c);
  c.seed = static_cast<std::uint64_t>(1 + dice.below(1 << 30));
  return c;
}

}  // namespace

TEST_F(Gemm, IsRightForRandomProducts) {
  const int cases = asked("GEMM_TEST_CASES", settings.products);
  Dice dice(2026);
  const TensorInstruction instruction = plan::instruction_of(device.info().arch);
  const int most_blocks = std::min(device.info().multiprocessors, 8);
  std::vector<Recipe> recipes;
  for (int i = 0; i < cases; ++i) {
    // As many recipes as a fifth of the cases, at most 40, each with a plan that can serve it or the ranking's.
    if (i % 5 == 0 && recipes.size() < 40) {
      Recipe recipe = random_recipe(dice, instruction == TensorInstruction::wgmma);
      recipe.form.align = false;  // a plan serves operands of one kind, and only large ones are copied
      const GemmResult result = check(stream, random_case(dice, recipe));
      for (int attempt = 0; attempt < 20 && !dice.one_in(4); ++attempt) {
        const std::string plan = random_plan(dice, instruction, {most_blocks, result.plan.kind.by_tma()});
        if (GemmPlan p =
                plan::plan_from_text(plan, result.plan.exchange ? result.plan.kind.transposed() : result.plan.kind);
            p.valid()) {
          recipe.form.plan = plan;
          break;
        }
      }
      recipe.form.align = recipe.form.plan.empty();
      recipes.push_back(recipe);
    } else {
      check(stream, random_case(dice, recipes[dice.below(recipes.size())]));
    }
    if (HasFatalFailure()) return;
  }
  RecordProperty("cases", cases);
}

}  // namespace wm::test
