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
#include "ops/on_chip.hpp"
#include "plan/attention_choice.hpp"
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

TEST(AttentionOnChip, FirstUseTakesUnder800MillisecondsAndUnder20FromTheCache) {
  const auto folder = std::filesystem::temp_directory_path() / fmt::format("warpmill-first-use-{}", getpid());
  setenv("WARPMILL_CACHE_DIR", folder.c_str(), 1);
  setenv("WARPMILL_KERNELS_DIR", (folder / "none").c_str(), 1);  // compiled, not brought along
  const Device device = Device::open("cuda:0");
  for (const auto& [dim, causal] : {std::pair{64, false}, {128, false}, {128, true}, {256, false}}) {
    const AttentionKind kind{.head_dim = dim, .value_dim = dim, .mask = {.right = causal}};
    const auto choice = plan::choose(kind, {4, 16, 16, 4096, 4096}, plan::rates_of(device.info()), device.info().name);
    const ops::KernelSource source = ops::attention_source(choice.value().plan);
    bool from_cache = false;
    const auto load = [&] {
      const auto program = ops::compile(source, device.info().arch, ops::Target::chip);
      from_cache = program.from_cache;
      Module::load(device, program).kernel(source.expression);
    };
    const double first = milliseconds(load);
    EXPECT_FALSE(from_cache);
    const double cached = milliseconds(load);
    EXPECT_TRUE(from_cache);
    fmt::print("head dim {}{}: first use {:.0f} ms, from the cache {:.1f} ms\n", dim, causal ? " causal" : "", first,
               cached);
    EXPECT_LT(first, 800) << dim;
    EXPECT_LT(cached, 20) << dim;
  }
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
