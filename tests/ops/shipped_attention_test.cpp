// Plans of attention that the ranking may choose compile without lost speed: every third for plain bf16 heads of 128,
// the first among them; of each other kind one: for few queries, for short or long sequences, or with the largest
// steps. With SHIPPED_PLANS_EVERY=1 every one and all of these. Compiling ahead goes on where it was stopped.
#include <filesystem>
#include <functional>
#include <map>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "ops/attention_kernel.hpp"
#include "ops/clean_compile.hpp"
#include "ops/common_kernels.hpp"
#include "ops/settings.hpp"
#include "plan/attention_choice.hpp"
#include "plan/attention_plan_text.hpp"

namespace wm {
namespace {

std::size_t every_plan() { return static_cast<std::size_t>(test::asked("SHIPPED_PLANS_EVERY", 3)); }

test::NamedSource kernel_of(const AttentionPlan& plan) {
  const ops::AttentionText documents{.score = "score + slope[head] * (k - q)",
                                     .mask = "document[batch * queries + q] == document[batch * queries + k]",
                                     .skip =
                                         "document[batch * queries + k_last] < document[batch * queries + q_first] || "
                                         "document[batch * queries + k_first] > document[batch * queries + q_last]",
                                     .whole =
                                         "document[batch * queries + k_first] == document[batch * queries + q_last] && "
                                         "document[batch * queries + k_last] == document[batch * queries + q_first]",
                                     .arrays = {{"document", DType::i32}, {"slope", DType::f32}}};
  return {plan::text_of(plan), ops::attention_source(plan, documents)};
}

std::vector<AttentionKind> sample_of_kinds() {
  std::vector<AttentionKind> kinds;
  for (const auto& [dim, value_dim] : {std::pair{64, 64}, {128, 128}, {192, 128}, {256, 256}})
    for (const bool causal : {false, true})
      kinds.push_back({.head_dim = dim, .value_dim = value_dim, .mask = {.right = causal}});
  kinds.push_back({.element = DType::f16, .softcap = true});
  kinds.push_back({.mask = {.right = true}, .softcap = true, .sinks = true});
  kinds.push_back({.mask = {.right = true, .left = true}, .sequences = true});
  kinds.push_back({.head_dim = 64, .value_dim = 64, .mask = {.right = true, .left = true}, .softcap = true});
  for (const int dim : {64, 128, 256}) {
    const MaskFacts window{.right = true, .left = true};
    kinds.push_back({.head_dim = dim, .value_dim = dim, .mask = window, .softcap = true, .sequences = true});
  }
  kinds.push_back({.head_dim = 64, .value_dim = 256, .softcap = true});
  kinds.push_back({.head_dim = 256, .value_dim = 256, .sequences = true});
  kinds.push_back({.head_dim = 256, .value_dim = 256, .lengths = true});
  kinds.push_back(
      {.head_dim = 256, .value_dim = 256, .mask = {.right = true}, .softcap = true, .lengths = true, .sinks = true});
  kinds.push_back({.head_dim = 112, .value_dim = 112, .lengths = true, .alibi = Alibi::both_sides, .sinks = true});
  for (const int dim : {64, 128, 256}) {
    kinds.push_back({.head_dim = dim, .value_dim = dim, .alibi = Alibi::both_sides, .sinks = true});
    kinds.push_back({.head_dim = dim, .value_dim = dim, .mask = {.right = true}, .alibi = Alibi::before});
    const MaskFacts window{.right = true, .left = true};
    kinds.push_back({.head_dim = dim,
                     .value_dim = dim,
                     .mask = window,
                     .softcap = true,
                     .sequences = true,
                     .alibi = Alibi::both_sides,
                     .sinks = true});
  }
  for (const int dim : {64, 96, 128, 192, 256}) {
    AttentionKind kind{.head_dim = dim, .value_dim = dim, .sequences = true, .alibi = Alibi::both_sides};
    kind.mask = {.right = true, .left = true};
    kinds.push_back(kind);
    kind.sinks = true;
    kinds.push_back(kind);
    kind.element = DType::f16, kind.mask.left = false, kind.alibi = Alibi::before;
    kinds.push_back(kind);
  }
  for (const int dim : {64, 128, 256}) {
    const ExpressionFacts documents{.mask = true, .skip = true, .whole = true};
    for (const bool causal : {false, true})
      kinds.push_back({.head_dim = dim, .value_dim = dim, .mask = {.right = causal}, .expressions = documents});
    kinds.push_back(
        {.element = DType::f16, .head_dim = dim, .value_dim = dim, .sinks = true, .expressions = documents});
    AttentionKind tails{.head_dim = dim, .value_dim = dim, .mask = {.right = true}, .sequences = true};
    tails.expressions = {.mask = true, .whole = true};
    kinds.push_back(tails);
    kinds.push_back({.head_dim = dim, .value_dim = dim, .expressions = {.score = true}});
  }
  for (const int dim : {64, 128, 256}) {
    const MaskFacts window{.right = true, .left = true};
    const AttentionKind narrow{.element = DType::e4m3, .head_dim = dim, .value_dim = dim};
    for (const auto& change : std::vector<std::function<void(AttentionKind&)>>{
             [](AttentionKind&) {}, [](AttentionKind& kind) { kind.mask.right = true, kind.out = DType::e4m3; },
             [&](AttentionKind& kind) { kind.mask = window, kind.softcap = kind.sequences = true; },
             [](AttentionKind& kind) { kind.alibi = Alibi::both_sides, kind.sinks = true; },
             [](AttentionKind& kind) {
               kind.expressions = {.score = true, .mask = true, .skip = true, .whole = true};
             }}) {
      kinds.push_back(narrow);
      change(kinds.back());
    }
  }
  kinds.push_back({.head_dim = 16, .value_dim = 112, .expressions = {.mask = true, .skip = true, .whole = true}});
  for (const int dim : {40, 96, 208})
    kinds.push_back({.head_dim = dim, .value_dim = dim, .mask = {.right = true}, .sequences = true});
  // Heads whose rows begin in the middle of a sector may be multiplied by pairs of blocks.
  for (const int dim : {136, 184, 248}) {
    kinds.push_back({.head_dim = dim, .value_dim = dim});
    kinds.push_back({.head_dim = dim, .value_dim = dim, .mask = {.right = true}, .sinks = true});
    kinds.push_back({.head_dim = dim, .value_dim = dim, .mask = {.right = true, .left = true}, .softcap = true});
    kinds.push_back({.element = DType::f16, .head_dim = dim, .value_dim = dim, .alibi = Alibi::both_sides});
    kinds.push_back({.head_dim = dim, .value_dim = dim, .expressions = {.score = true}});
  }
  // Low caps have a softmax of their own.
  for (const int dim : {64, 128, 256}) kinds.push_back({.head_dim = dim, .value_dim = dim, .softcap = true});
  for (std::size_t i = 0, count = kinds.size(); i < count; ++i) {
    AttentionKind low = kinds[i];
    low.low_cap = low.softcap;
    if (AttentionPlan{.kind = low}.grounded()) kinds.push_back(low);
  }
  return kinds;
}

}  // namespace

TEST(ShippedAttention, OfOneKindCompilesWithoutLostSpeed) {
  std::vector<test::NamedSource> kernels;
  for (const std::int64_t queries : {64, 4096})
    for (std::size_t i = 0; const auto& candidate : plan::rank({}, {4, 16, 16, queries, 4096}, {}))
      if (i++ % every_plan() == 0) kernels.push_back(kernel_of(candidate.plan));
  EXPECT_GT(kernels.size(), 3u);
  test::expect_clean(std::move(kernels));
}

TEST(ShippedAttention, OfEveryKindCompilesWithoutLostSpeed) {
  const std::int64_t lengths[] = {64, 2048, 16384};
  const auto every = static_cast<std::size_t>(test::asked("SHIPPED_PLANS_EVERY", 5));
  std::vector<test::NamedSource> kernels;
  const std::vector<AttentionKind> kinds = sample_of_kinds();
  for (std::size_t i = 0; i < kinds.size(); ++i)
    for (std::size_t j = 0; j < std::size(lengths) + 2; ++j) {
      if ((i + j) % every != 0) continue;
      if (j < std::size(lengths)) {
        kernels.push_back(kernel_of(plan::rank(kinds[i], {4, 16, 16, lengths[j], lengths[j]}, {}).front().plan));
        continue;
      }
      const auto candidates = plan::candidates(kinds[i], j == std::size(lengths));
      for (const AttentionPlan& plan : candidates)  // with the largest steps, which fill the registers
        if (plan.keys == candidates.front().keys) kernels.push_back(kernel_of(plan));
    }
  test::expect_clean(std::move(kernels));
}

// For few queries one group has the registers of two, but ends, a softcap and expressions to think of.
TEST(ShippedAttention, OfALoneGroupCompilesWithoutLostSpeed) {
  const MaskFacts causal{.right = true}, window{.right = true, .left = true};
  const AttentionKind ends{.head_dim = 184, .value_dim = 184, .sequences = true};
  std::vector<AttentionKind> kinds(6, ends);
  kinds[1].mask = causal;
  kinds[2].softcap = true;
  kinds[3].softcap = true, kinds[3].mask = window, kinds[3].alibi = Alibi::both_sides, kinds[3].sinks = true;
  kinds[4].softcap = true, kinds[4].mask = causal, kinds[4].expressions.score = true;
  kinds[5].head_dim = kinds[5].value_dim = 256, kinds[5].element = DType::f16, kinds[5].mask = causal;
  kinds.push_back({.element = DType::e4m3, .out = DType::e4m3, .head_dim = 208, .value_dim = 208, .softcap = true});
  kinds.back().expressions = {.score = true, .mask = true, .skip = true};
  std::vector<test::NamedSource> kernels;
  for (const AttentionKind& kind : kinds)
    for (const auto candidates = plan::candidates(kind, true); const AttentionPlan& plan : candidates)
      if (plan.keys == candidates.front().keys) kernels.push_back(kernel_of(plan));
  EXPECT_GE(kernels.size(), kinds.size());
  test::expect_clean(std::move(kernels));
}

// On sm_100a every plan of a kind; of its kinds every ninth.
TEST(ShippedAttention, InTensorMemoryCompilesWithoutLostSpeed) {
  plan::ChipRates rates;
  rates.instruction = TensorInstruction::tcgen05;
  std::vector<test::NamedSource> kernels;
  std::vector<AttentionKind> kinds = sample_of_kinds();
  kinds.insert(kinds.begin(), {.element = DType::e4m3,
                               .out = DType::e4m3,
                               .head_dim = 192,
                               .mask = {.right = true, .left = true},
                               .softcap = true,
                               .sequences = true,
                               .alibi = Alibi::both_sides,
                               .sinks = true});
  for (std::size_t i = 0; i < kinds.size(); i += every_plan() * every_plan())
    for (const auto& candidate : plan::rank(kinds[i], {4, 16, 16, 4096, 4096}, rates))
      kernels.push_back(kernel_of(candidate.plan));
  EXPECT_GT(kernels.size(), 3u);
  test::expect_clean(std::move(kernels), "sm_100a");
}

// Stopped after two kernels, and again: the first two are not compiled a second time.
TEST(ShippedAttention, IsCompiledAheadFromWhereItWasStopped) {
  const auto folder = std::filesystem::temp_directory_path() / fmt::format("warpmill-ahead-{}", getpid());
  using Files = std::map<std::filesystem::path, std::filesystem::file_time_type>;
  const auto files_after = [&](std::size_t kernels) {
    EXPECT_THROW(ops::compile_common_kernels(folder,
                                             [&](std::size_t done, std::size_t total) {
                                               EXPECT_GT(total, 100u);
                                               if (done >= kernels) throw Error(ErrorCode::stopped, "enough");
                                             }),
                 Error);
    Files files;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) files[entry] = entry.last_write_time();
    return files;
  };
  const Files first = files_after(2), both = files_after(first.size() + 1);
  EXPECT_GE(first.size(), 2u);
  EXPECT_GT(both.size(), first.size());
  for (const auto& [file, time] : first) EXPECT_EQ(both.at(file), time) << file;
  std::filesystem::remove_all(folder);
}

}  // namespace wm
