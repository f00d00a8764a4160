// What only a chip can show of the attention call: graph capture and its cost to the host.
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "attention/random_attention.hpp"
#include "gemm/graph.hpp"
#include "ops/attention_kernel.hpp"
#include "ops/common_kernels.hpp"
#include "ops/on_chip.hpp"
#include "plan/attention_choice.hpp"
#include "plan/attention_plan_text.hpp"
#include "warpmill/module.hpp"

namespace wm::test {

using bench::AttentionCase;
using bench::RandomAttention;

TEST(AttentionOnChip, IsCapturedIntoGraphs) {
  const Device device = Device::open("cuda:0");
  const Stream stream(device);
  for (const AttentionCase& c :
       {AttentionCase{
            .batch = 2, .heads = 4, .kv_heads = 2, .queries = 1000, .keys = 1000, .mask = AttentionMask::causal()},
        AttentionCase{
            .heads = 3, .kv_heads = 3, .head_dim = 64, .value_dim = 64, .sequences = {{700, 900}, {0, 5}, {33, 33}}}}) {
    const RandomAttention attention(stream, c, 1);
    wm::attention(stream, attention.request());  // the module is loaded before a capture begins
    stream.synchronize();
    attention.poison(stream);
    // Twice in one graph, and on a stream that has launched nothing before.
    const Stream other(device);
    const bench::Graph graph(other, [&] {
      wm::attention(other, attention.request());
      wm::attention(other, attention.request());
    });
    stream.synchronize();
    EXPECT_FALSE(attention.error() < 1) << "a capture runs nothing";
    for (int i = 0; i < 3; ++i) {
      attention.poison(stream);
      stream.synchronize();
      graph.replay(other);
      other.synchronize();
      EXPECT_LT(attention.error(), 1);
    }
  }
}

// With an empty cache, and the kernels that were compiled with the library.
TEST(AttentionOnChip, FirstUseTakesUnder800MillisecondsAndUnder20FromTheCache) {
  const auto folder = std::filesystem::temp_directory_path() / fmt::format("warpmill-first-use-{}", getpid());
  setenv("WARPMILL_CACHE_DIR", folder.c_str(), 1);
  const Device device = Device::open("cuda:0");
  const MaskFacts none, causal{.right = true}, window{.right = true, .left = true};
  struct Use {
    AttentionKind kind;
    std::int64_t queries = 4096, kv_heads = 16;
  };
  const auto load = [&](const AttentionPlan& plan) {
    const ops::KernelSource source = ops::attention_source(plan);
    const jit::Program program = ops::compile(source, device.info().arch, ops::Target::chip);
    Module::load(device, program).kernel(source.expression);
    return program.from_cache;
  };
  std::vector<Use> uses;
  for (const auto& [head_dim, value_dim] : {std::pair{64, 64}, {128, 128}, {192, 128}, {256, 256}}) {
    const AttentionKind kind{.head_dim = head_dim, .value_dim = value_dim};
    for (const MaskFacts& mask : {none, causal, window})
      for (const bool rest : {false, true}) {
        uses.push_back({kind, rest ? 100 : 4096});
        uses.back().kind.mask = mask;
        uses.back().kind.element = rest ? DType::f16 : DType::bf16;
        uses.back().kind.softcap = uses.back().kind.sequences = rest;
      }
    uses.push_back({kind, 1});
    uses.push_back({kind, 3, 4});  // packed
  }
  AttentionPlan last;
  for (const auto& [kind, queries, kv_heads] : uses) {
    const plan::AttentionShape shape{4, 16, kv_heads, queries, queries < 64 ? 4096 : queries, 512, 0};
    const AttentionPlan plan =
        plan::choose(kind, shape, plan::rates_of(device.info()), device.info().name).value().plan;
    bool ahead = false, kept = false;
    const double first = milliseconds([&] { ahead = load(plan); }), again = milliseconds([&] { kept = load(plan); });
    fmt::print("{} {}/{}{}{}{}{}: {}, first use {:.1f} ms{}, then {:.1f} ms\n", name_of(kind.element), kind.head_dim,
               kind.value_dim,
               kind.mask.left    ? " window"
               : kind.mask.right ? " causal"
                                 : "",
               kind.softcap ? " softcap" : "", kind.sequences ? " sequences" : "", queries < 64 ? " few queries" : "",
               plan::text_of(plan), first, ahead ? "" : " (compiled)", again);
    EXPECT_LT(first, 800);
    EXPECT_LT(again, 20);
    EXPECT_TRUE(kept);
    EXPECT_TRUE(ahead || ops::compiles_quickly(plan))
        << "share/warpmill/kernels beside bin does not have it; cmake --build BUILD --target kernels_ahead makes it";
    last = plan;
  }
  // A large one that was compiled here, from the cache.
  setenv("WARPMILL_KERNELS_DIR", (folder / "none").c_str(), 1);
  EXPECT_FALSE(load(last));
  bool kept = false;
  const double again = milliseconds([&] { kept = load(last); });
  fmt::print("{} from the cache: {:.1f} ms\n", plan::text_of(last), again);
  EXPECT_TRUE(kept);
  EXPECT_LT(again, 20);
  std::filesystem::remove_all(folder);
}

TEST(AttentionOnChip, ARepeatedCallCostsTheHostLessThanFiveMicroseconds) {
  const Device device = Device::open("cuda:0");
  const Stream stream(device);
  const RandomAttention attention(stream, {.heads = 2, .kv_heads = 2, .queries = 128, .keys = 128}, 1);
  const AttentionRequest request = attention.request();
  wm::attention(stream, request);
  stream.synchronize();
  const double microseconds = microseconds_a_call(stream, [&] { wm::attention(stream, request); });
  fmt::print("{:.2f} us a call\n", microseconds);
  EXPECT_LT(microseconds, 5);
}

}  // namespace wm::test
