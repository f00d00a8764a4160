// Plans that the ranking or the shipped table may choose compile without lost speed: no C75xx line, no spill, no stack
// frame. Of the shipped table's every sixth; of the ranking's for plain bf16 and e4m3, and promoted e4m3, every 96th;
// for other kinds the ranking's first for a product large, middle or flat, and for every sixth kind the one with the
// fewest registers to spare. With SHIPPED_PLANS_EVERY=1 all of them.
#include <algorithm>

#include <gtest/gtest.h>

#include "ops/clean_compile.hpp"
#include "ops/gemm_kernel.hpp"
#include "ops/settings.hpp"
#include "plan/gemm_candidates.hpp"
#include "plan/gemm_plan_text.hpp"
#include "plan/gemm_ranking.hpp"
#include "plan/tuned_plans.hpp"

namespace wm {
namespace {

void expect_clean(const std::vector<GemmPlan>& plans, std::string_view arch = "sm_90a") {
  std::vector<test::NamedSource> kernels;
  for (const GemmPlan& plan : plans) {
    const bool own = plan.kind.epilogue.activation == Activation::expression;
    kernels.push_back({plan::text_of(plan), ops::gemm_source(plan, own ? "x * sigmoid(1.702f * x)" : "")});
  }
  test::expect_clean(std::move(kernels), arch);
}

std::size_t every_plan() { return static_cast<std::size_t>(test::asked("SHIPPED_PLANS_EVERY", 96)); }

// Of what is dear to compile a sixth.
bool is_taken(std::size_t i) { return i % 6 == 0 || every_plan() == 1; }

// Of each kind the plan that leaves the fewest registers.
std::vector<GemmPlan> fullest(const std::vector<GemmKind>& kinds, TensorInstruction instruction) {
  std::vector<GemmPlan> plans;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    if (!is_taken(i)) continue;
    const auto candidates = plan::candidate_plans(kinds[i], instruction);
    if (candidates.empty()) {
      ADD_FAILURE() << "kind " << i << " has no plan";
      continue;
    }
    plans.push_back(*std::min_element(candidates.begin(), candidates.end(), [](const GemmPlan& a, const GemmPlan& b) {
      return a.spare_registers() < b.spare_registers();
    }));
  }
  return plans;
}

GemmKind of_types(DType a, DType b, DType d) { return {.a = a, .b = b, .d = d}; }

// Of every format with block scales its plans; every so many of them, and all with SHIPPED_PLANS_EVERY=1.
std::vector<GemmPlan> scaled_plans(std::initializer_list<BlockFormat> formats, TensorInstruction instruction) {
  std::vector<GemmPlan> plans;
  for (const BlockFormat format : formats) {
    GemmKind kind = of_types(DType::u8, DType::u8, DType::bf16);
    kind.a_format = kind.b_format = format;
    for (const GemmPlan& plan : plan::candidate_plans(kind, instruction)) plans.push_back(plan);
  }
  const auto every = static_cast<std::size_t>(test::asked("SHIPPED_PLANS_EVERY", 9));
  std::vector<GemmPlan> taken;
  for (std::size_t i = 0; i < plans.size(); i += every) taken.push_back(plans[i]);
  return taken;
}

// One kind for each type, major-ness, producer and part of the epilogue.
std::vector<GemmKind> sample_of_kinds() {
  using enum DType;
  std::vector<GemmKind> kinds{of_types(f16, f16, f16),   of_types(bf16, bf16, f32), of_types(bf16, bf16, e4m3),
                              of_types(f32, f32, f32),   of_types(i8, i8, i32),     of_types(i8, i8, bf16),
                              of_types(e5m2, e4m3, f16), of_types(e4m3, e4m3, e4m3)};
  const auto changed = [&](GemmKind kind, const auto& change) {
    change(kind);
    kinds.push_back(kind);
  };
  const GemmKind plain, small = of_types(e4m3, e4m3, bf16), tf = of_types(f32, f32, f32);
  changed(small, [](GemmKind& k) { k.promote = true; });
  changed(plain, [](GemmKind& k) { k.a_major = Major::mn; });
  changed(plain, [](GemmKind& k) { k.a_major = k.b_major = Major::mn; });
  changed(plain, [](GemmKind& k) { k.d_columns = true; });
  changed(plain, [](GemmKind& k) { k.listed = true; });
  changed(plain, [](GemmKind& k) { k.d_scattered = true; });
  changed(tf, [](GemmKind& k) { k.d_scattered = true; });
  changed(plain, [](GemmKind& k) { k.a_producer = Producer::copies16, k.b_producer = Producer::copies8; });
  changed(plain, [](GemmKind& k) { k.a_producer = Producer::copies4, k.b_producer = Producer::elements; });
  changed(small, [](GemmKind& k) { k.a_producer = k.b_producer = Producer::elements, k.b_major = Major::mn; });
  changed(tf, [](GemmKind& k) { k.a_producer = k.b_producer = Producer::elements, k.a_major = k.b_major = Major::mn; });
  const auto with = [&](const GemmKind& kind, EpilogueFacts facts) {
    changed(kind, [&](GemmKind& k) { k.epilogue = facts; });
  };
  with(plain, {.alpha = true, .residual = true});
  with(plain, {.column_bias = true, .activation = Activation::gelu_tanh, .bias = bf16});
  with(plain, {.row_bias = true, .activation = Activation::gelu_erf});
  with(plain, {.activation = Activation::relu});
  with(plain, {.activation = Activation::expression});
  with(small, {.row_scale = true, .column_scale = true});
  with(of_types(e4m3, e4m3, e4m3), {.row_scale = true, .column_scale = true, .amax = true, .d_scale = true});
  const EpilogueFacts everything{.alpha = true,
                                 .residual = true,
                                 .row_scale = true,
                                 .column_scale = true,
                                 .row_bias = true,
                                 .column_bias = true,
                                 .amax = true,
                                 .d_scale = true,
                                 .activation = Activation::silu};
  with(plain, everything);
  with(of_types(i8, i8, f32), everything);
  changed(plain, [&](GemmKind& k) { k.epilogue = everything, k.d_scattered = true; });
  return kinds;
}

}  // namespace

TEST(ShippedPlans, CompileWithoutLostSpeed) {
  std::vector<GemmPlan> plans;
  const std::size_t every = every_plan();
  const GemmKind small = of_types(DType::e4m3, DType::e4m3, DType::bf16);
  GemmKind promoted = small;
  promoted.promote = true;
  for (const GemmKind& kind : {GemmKind{}, small, promoted}) {
    const auto candidates = plan::candidate_plans(kind);
    for (std::size_t i = 0; i < candidates.size(); i += every) plans.push_back(candidates[i]);
  }
  std::vector<std::string> problems;
  const auto shipped = plan::TunedPlans::from_text(plan::shipped_plans_text(), "", problems).entries();
  for (std::size_t i = 0; i < shipped.size(); ++i)
    if (is_taken(i)) plans.push_back(plan::plan_from_text(shipped[i].plan, shipped[i].key.kind()));
  expect_clean(plans);
}

TEST(ShippedPlans, OfOtherKindsCompileWithoutLostSpeed) {
  const plan::GemmShape shapes[] = {{4096, 4096, 4096}, {1000, 1000, 1000}, {16, 6144, 4096}};
  const bool every = every_plan() == 1;
  std::vector<GemmPlan> plans;
  const std::vector<GemmKind> kinds = sample_of_kinds();
  for (std::size_t i = 0; i < kinds.size(); ++i)
    for (std::size_t j = 0; j < std::size(shapes); ++j)
      if (every || i % std::size(shapes) == j) plans.push_back(plan::rank(kinds[i], shapes[j], {}).front().plan);
  expect_clean(plans);
}

// GemmPlan::has_room() keeps the ranking from tiles that leave an epilogue too few registers.
TEST(ShippedPlans, WithTheFewestRegistersToSpareCompileWithoutLostSpeed) {
  expect_clean(fullest(sample_of_kinds(), TensorInstruction::wgmma));
}

TEST(ShippedPlans, WithoutRolesCompileWithoutLostSpeed) {
  std::vector<GemmPlan> plans;
  for (const char* text : {"128x256 s4 multistage", "128x128 s4 multistage", "256x128 s4 multistage",
                           "64x256 s2 g1 multistage", "192x112 s3 g3 multistage", "128x64 s3 multistage split"})
    plans.push_back(plan::plan_from_text(text));
  expect_clean(plans);
}

// With tensor memory: of the plans for plain bf16 every 16th, of every sixth other kind the one with the fewest
// registers to spare.
TEST(ShippedPlans, ForSm100CompileWithoutLostSpeed) {
  const auto every = static_cast<std::size_t>(test::asked("SHIPPED_PLANS_EVERY", 16));
  const auto plain = plan::candidate_plans({}, TensorInstruction::tcgen05);
  std::vector<GemmKind> kinds = sample_of_kinds();
  std::erase_if(kinds, [](const GemmKind& kind) { return kind.promote; });
  std::vector<GemmPlan> plans = fullest(kinds, TensorInstruction::tcgen05);
  for (std::size_t i = 0; i < plain.size(); i += every) plans.push_back(plain[i]);
  expect_clean(plans, "sm_100a");
}

TEST(ShippedPlans, WithBlockScalesCompileWithoutLostSpeed) {
  using enum BlockFormat;
  const auto tensor_memory = scaled_plans({mxfp8_e4m3, mxfp6_e3m2, mxfp4, nvfp4}, TensorInstruction::tcgen05);
  const auto mma = scaled_plans({mxfp8_e4m3, mxfp4, nvfp4}, TensorInstruction::mma_tma);
  EXPECT_FALSE(tensor_memory.empty() || mma.empty());
  expect_clean(tensor_memory, "sm_100a");
  expect_clean(mma, "sm_120a");
}

// The same with mma and a copy engine.
TEST(ShippedPlans, ForSm120CompileWithoutLostSpeed) {
  const auto every = static_cast<std::size_t>(test::asked("SHIPPED_PLANS_EVERY", 4));
  const auto plain = plan::candidate_plans({}, TensorInstruction::mma_tma);
  std::vector<GemmKind> kinds = sample_of_kinds();
  std::erase_if(kinds, [](const GemmKind& kind) { return kind.promote; });
  std::vector<GemmPlan> plans = fullest(kinds, TensorInstruction::mma_tma);
  for (std::size_t i = 0; i < plain.size(); i += every) plans.push_back(plain[i]);
  expect_clean(plans, "sm_120a");
}

TEST(ShippedPlans, ForSm80CompileWithoutLostSpeed) {
  using enum DType;
  const char* const largest = "256x128 s3 mma";
  std::vector<GemmPlan> plans = plan::candidate_plans({}, TensorInstruction::mma);
  plans.push_back(plan::plan_from_text(largest, of_types(i8, i8, i32)));
  plans.push_back(plan::plan_from_text(largest, {.a_major = Major::mn, .b_major = Major::mn}));
  GemmKind transposing = of_types(f32, f32, f32);
  transposing.a_major = transposing.b_major = Major::mn;
  transposing.a_producer = transposing.b_producer = Producer::elements;
  transposing.d_scattered = true;
  plans.push_back(plan::plan_from_text(largest, transposing));
  expect_clean(plans, "sm_80");
  expect_clean({plan::plan_from_text(largest)}, "sm_90a");  // by hand, beside wgmma
}

}  // namespace wm
