// The attention call, part by part: types, head dims, masks, layouts, lengths. Every row is compared with float64.
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>
#include <thread>
#include <tuple>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "attention/random_attention.hpp"
#include "ops/attention_fixture.hpp"
#include "plan/attention_plan_text.hpp"
#include "plan/attention_shape.hpp"
#include "warpmill/error.hpp"

namespace wm::test {

using bench::AttentionCase;
using bench::HeadLayout;
using bench::RandomAttention;
using enum DType;

TEST_F(Attention, ServesEveryHeadDimInBothTypes) {
  for (const DType dtype : {bf16, f16})
    for (const auto& [dim, value_dim] :
         {std::pair{64, 64}, {128, 128}, {192, 128}, {192, 192}, {256, 256}, {64, 128}}) {
      if (value_dim > largest_value_dim) continue;
      SCOPED_TRACE(fmt::format("{} {}/{}", name_of(dtype), dim, value_dim));
      AttentionCase c = several_tiles();
      c.dtype = dtype, c.head_dim = dim, c.value_dim = value_dim;
      if (dtype == bf16) c.mask = AttentionMask::causal();
      check(stream, c);
    }
}

// Heads that end inside a swizzle width, inside a product and with one; dims that differ either way.
TEST_F(Attention, PadsHeadDims) {
  for (const auto& [dim, value_dim] : {std::pair{8, 8}, {40, 72}, {80, 72}, {96, 96}, {120, 24}, {208, 248}}) {
    if (value_dim > largest_value_dim) continue;
    const bool sequences = dim % 16 == 0;
    SCOPED_TRACE(fmt::format("{}/{}{}", dim, value_dim, sequences ? ", sequences" : ""));
    AttentionCase c{.batch = 2, .heads = 4, .kv_heads = 2, .queries = 140, .keys = 190};
    c.head_dim = dim, c.value_dim = value_dim, c.layout = HeadLayout::positions_first;
    c.dtype = sequences ? f16 : bf16;
    if (sequences) c.sequences = {{70, 100}, {9, 33}, {130, 60}};
    check(stream, c);
  }
}

TEST_F(Attention, AddsSlopesAndSinks) {
  for (const AttentionMask mask : {AttentionMask{}, AttentionMask::causal(), AttentionMask{.left = 70, .right = 20},
                                   AttentionMask::causal(Alignment::beginnings)})
    for (const bool sequences : {false, true}) {
      SCOPED_TRACE(fmt::format("left {}, right {}{}", mask.left.value_or(-1), mask.right.value_or(-1),
                               sequences ? ", sequences" : ""));
      AttentionCase c{.heads = 2, .kv_heads = 1, .queries = 300, .keys = 260, .head_dim = 64, .value_dim = 64};
      c.mask = mask, c.alibi = true, c.sinks = sequences;
      if (sequences) c.sequences = {{150, 150}, {5, 0}, {64, 200}}, c.softcap = 5;
      check(stream, c);
      c.softcap = 0, c.slope_factor = -0.2f;  // far keys count for more: the bias has the slope's sign everywhere
      c.head_dim = c.value_dim = std::min(largest_value_dim, sequences ? 256 : 128), c.dtype = f16;
      check(stream, c);
    }
}

// Query heads that share keys as rows of one tile: every number of rows, heads that do not fill a tile or take several.
TEST_F(Attention, PacksAFewQueriesOfHeadsThatShareKeys) {
  for (const auto& [heads, kv_heads, queries] :
       {std::tuple{8, 2, 1}, {12, 2, 3}, {3, 1, 16}, {8, 1, 32}, {70, 1, 2}, {40, 2, 5}})
    for (const bool causal : {false, true}) {
      SCOPED_TRACE(fmt::format("{} heads over {}, {} queries{}", heads, kv_heads, queries, causal ? ", causal" : ""));
      AttentionCase c{.batch = 2, .heads = heads, .kv_heads = kv_heads, .queries = queries, .keys = 300};
      c.head_dim = c.value_dim = causal ? 64 : 128, c.sinks = causal;
      c.layout = causal ? HeadLayout::heads_first : HeadLayout::positions_first;
      if (causal) c.mask = {.left = 100, .right = 0};
      const RandomAttention attention(stream, c, 1);
      const AttentionResult result = wm::attention(stream, attention.request());
      stream.synchronize();
      EXPECT_LT(attention.error(), 1);
      EXPECT_EQ(result.plan.packed, std::bit_ceil(static_cast<unsigned>(queries)));
    }
}

// What lies beyond a batch's keys is NaN here, and reaches nobody.
TEST_F(Attention, TakesLengthsThatOnlyTheDeviceKnows) {
  for (const auto& [queries, kv_heads] : {std::pair{150, 2}, {4, 1}})
    for (const bool causal : {false, true}) {
      SCOPED_TRACE(fmt::format("{} queries{}", queries, causal ? ", causal" : ""));
      AttentionCase c{.batch = 5, .heads = 2, .kv_heads = kv_heads, .queries = queries, .keys = 300};
      c.head_dim = c.value_dim = 64;
      if (causal) c.mask = AttentionMask::causal();
      c.key_lengths = {300, 0, 129, 1, 256};
      check(stream, c);
    }
}

// A sink counts however large or small it is, and where no key is seen it is the whole sum.
TEST_F(Attention, TakesSinksOfAnySize) {
  for (const float softcap : {0.f, 30.f}) {  // a low cap has sums of its own
    SCOPED_TRACE(softcap);
    AttentionCase c{.heads = 4, .kv_heads = 4, .queries = 70, .keys = 20, .mask = AttentionMask::causal()};
    c.softcap = softcap;
    const RandomAttention attention(stream, c, 5);
    const std::vector<float> logits{500.f, -500.f, -INFINITY, 0.f};
    const Buffer sinks = Buffer::of<float>(device, logits);
    AttentionRequest request = attention.request();
    request.sinks = sinks.view<float>({4});
    wm::attention(stream, request);
    stream.synchronize();
    const std::vector<std::uint32_t> lse = attention.lse_bits();
    const auto log = [&](std::size_t head, std::size_t query) { return std::bit_cast<float>(lse[head * 70 + query]); };
    EXPECT_FLOAT_EQ(log(0, 69), 500.f);
    EXPECT_LT(std::fabs(log(1, 69)), 20.f);
    for (const std::size_t head : {0u, 1u, 2u, 3u})
      for (const std::size_t query : {0u, 49u}) EXPECT_EQ(log(head, query), logits[head]) << "no key is seen";
    const auto rows = attention.rows();
    for (const float x : rows(0, 0, 69)) EXPECT_EQ(x, 0.f) << "nothing is left beside the sink";
  }
}

TEST_F(Attention, TakesAnyLengths) {
  for (const auto& [queries, keys] : {std::pair{1, 1},
                                      {1, 500},
                                      {64, 64},
                                      {65, 1},
                                      {128, 176},
                                      {129, 177},
                                      {257, 127},
                                      {40, 700},
                                      {400, 33},
                                      {3, 0},
                                      {0, 3},
                                      {200, 0}}) {
    for (const bool causal : {false, true}) {
      SCOPED_TRACE(fmt::format("{} queries, {} keys{}", queries, keys, causal ? ", causal" : ""));
      AttentionCase c{.heads = 2, .kv_heads = 1, .queries = queries, .keys = keys};
      if (causal) c.mask = AttentionMask::causal();
      check(stream, c);
    }
  }
}

TEST_F(Attention, MasksByWindowsAndFromBothEnds) {
  using Mask = AttentionMask;
  for (const auto& [queries, keys] : {std::pair{300, 300}, {200, 420}, {420, 200}})
    for (const Alignment alignment : {Alignment::ends, Alignment::beginnings})
      for (const Mask mask :
           {Mask{.right = 0}, Mask{.left = 64, .right = 0}, Mask{.left = 0, .right = 0}, Mask{.left = 100},
            Mask{.right = 17}, Mask{.left = 33, .right = 70}, Mask{.left = 1000, .right = 1000}}) {
        AttentionCase c{.heads = 1, .kv_heads = 1, .queries = queries, .keys = keys, .head_dim = 64, .value_dim = 64};
        c.mask = mask;
        c.mask.alignment = alignment;
        SCOPED_TRACE(fmt::format("{} x {}, left {}, right {}, {}", queries, keys, mask.left.value_or(-1),
                                 mask.right.value_or(-1), alignment == Alignment::ends ? "ends" : "beginnings"));
        check(stream, c);
      }
}

// One query opposite the last of as many keys as there may be: the limit to the right of a mask that has none lies
// beyond them all, and the sums of both are still 32-bit numbers.
TEST_F(Attention, SeesTheLastKeysOfTheLongestSequenceThroughALeftLimitAlone) {
  const std::vector<wm::bf16> ones(64, wm::bf16(1.f)), halves(64, wm::bf16(0.5f));
  const Buffer one = Buffer::of<wm::bf16>(device, ones), half = Buffer::of<wm::bf16>(device, halves),
               out = Buffer::of<wm::bf16>(device, ones);
  const auto repeated = [](const Buffer& row, std::int64_t times) {
    return row.view(bf16, {1, 1, times, 64}, {64, 64, 0, 1});
  };
  wm::attention(stream, {.q = repeated(one, 1),
                         .k = repeated(one, plan::most_positions),
                         .v = repeated(half, plan::most_positions),
                         .out = repeated(out, 1),
                         .mask = {.left = 10}});
  stream.synchronize();
  for (const wm::bf16 element : out.download<wm::bf16>()) EXPECT_EQ(static_cast<float>(element), 0.5f);
}

TEST_F(Attention, SharesKeysAndValuesAmongHeads) {
  for (const auto& [heads, kv_heads] : {std::pair{4, 4}, {4, 1}, {8, 2}, {8, 1}, {6, 3}})
    for (const std::int64_t batch : {1, 3}) {
      SCOPED_TRACE(fmt::format("{} heads over {}, batch {}", heads, kv_heads, batch));
      check(stream, {.batch = batch,
                     .heads = heads,
                     .kv_heads = kv_heads,
                     .queries = 70,
                     .keys = 150,
                     .head_dim = 64,
                     .value_dim = 64,
                     .mask = AttentionMask::causal()});
    }
}

TEST_F(Attention, ReadsEveryLayout) {
  for (const HeadLayout layout : {HeadLayout::heads_first, HeadLayout::positions_first, HeadLayout::packed})
    for (const bool sequences : {false, true}) {
      SCOPED_TRACE(fmt::format("layout {}, {}", static_cast<int>(layout), sequences ? "sequences" : "batch"));
      AttentionCase c{.batch = 2, .heads = 4, .kv_heads = 2, .queries = 150, .keys = 150};
      c.layout = layout;
      if (sequences) c.sequences = {{90, 90}, {130, 130}};
      check(stream, c);
    }
}

// One head of K and V for all batches: a stride of 0.
TEST_F(Attention, ReadsKeysThatAreRepeated) {
  AttentionCase c{.batch = 3, .heads = 2, .kv_heads = 2, .queries = 70, .keys = 90, .head_dim = 64, .value_dim = 64};
  RandomAttention attention(stream, c, 9);
  for (auto* values : {&attention.k, &attention.v})
    for (std::size_t i = 0; i < values->size(); ++i) (*values)[i] = (*values)[i % (values->size() / 3)];
  attention.upload(stream);
  AttentionRequest request = attention.request();
  request.k.strides[0] = request.v.strides[0] = 0;
  wm::attention(stream, request);
  stream.synchronize();
  EXPECT_LT(attention.error(), 1);
}

TEST_F(Attention, TakesSequencesOfAnyLengths) {
  for (const AttentionMask mask : {AttentionMask{}, AttentionMask::causal(), AttentionMask{.left = 40, .right = 3}})
    for (const int dim : {64, 128, 256}) {
      if (dim > largest_value_dim) continue;
      AttentionCase c{.heads = 2,
                      .kv_heads = 1,
                      .head_dim = dim,
                      .value_dim = dim,
                      .mask = mask,
                      .layout = HeadLayout::positions_first};
      c.sequences = {{1, 1}, {200, 200}, {0, 0}, {64, 128}, {5, 0}, {0, 9}, {129, 77}, {33, 300}, {128, 176}};
      SCOPED_TRACE(fmt::format("dim {}, left {}, right {}", dim, mask.left.value_or(-1), mask.right.value_or(-1)));
      check(stream, c);
    }
}

TEST_F(Attention, IsTheSameWhateverIsSaidOfTheLongestSequence) {
  AttentionCase c{.heads = 2, .kv_heads = 1, .mask = AttentionMask::causal(), .layout = HeadLayout::positions_first};
  c.sequences = {{200, 200}, {64, 128}, {129, 77}};
  const RandomAttention attention(stream, c, 3);
  for (const std::int64_t longest : {0, 1, 1000}) {
    AttentionRequest request = attention.request();
    request.sequences->longest_queries = request.sequences->longest_keys = longest;
    attention.poison(stream);
    wm::attention(stream, request);
    stream.synchronize();
    EXPECT_LT(attention.error(), 1) << longest;
  }
}

TEST_F(Attention, ServesEveryKindOfPlan) {
  const auto tcgen05 = TensorInstruction::tcgen05;
  for (const AttentionPlan plan : {AttentionPlan{.keys = 16},
                                   {.keys = 128, .groups = 1},
                                   {.keys = 64, .groups = 3},
                                   {.keys = 48, .stages = 4},
                                   {.keys = 64, .strips = 0},
                                   {.keys = 64, .strips = 2},
                                   {.keys = 80, .pair = true},
                                   {.keys = 64, .groups = 3, .q_stages = 2, .pair = true},
                                   {.keys = 48, .groups = 1, .strips = 0, .pair = true},
                                   {.keys = 32, .stages = 3, .instruction = tcgen05},
                                   {.keys = 96, .strips = 2, .instruction = tcgen05, .fma_pairs = 12},
                                   {.keys = 128, .stages = 1, .instruction = tcgen05, .fma_pairs = 5},
                                   {.keys = 64, .instruction = tcgen05, .tiles = TileSource::claims},
                                   {.keys = 128, .instruction = tcgen05, .tiles = TileSource::share},
                                   {.keys = 96, .instruction = tcgen05, .tiles = TileSource::share, .pair = true},
                                   {.keys = 32, .instruction = tcgen05, .tiles = TileSource::claims, .pair = true}}) {
    if (plan.instruction != instruction) continue;
    SCOPED_TRACE(plan::text_of(plan));
    AttentionCase c = several_tiles();
    c.head_dim = c.value_dim = plan.groups == 3 ? 64 : 128;
    check(stream, c, plan);
    c.mask = {.left = 100, .right = 0};
    check(stream, c, plan);
  }
}

TEST_F(Attention, GivesTheSameBitsEveryTime) {
  AttentionCase c{.batch = 2, .heads = 3, .kv_heads = 3, .queries = 200, .keys = 300, .mask = AttentionMask::causal()};
  const RandomAttention attention(stream, c, 11);
  std::vector<std::uint8_t> out;
  std::vector<std::uint32_t> lse;
  for (int run = 0; run < settings.equal_runs; ++run) {
    attention.poison(stream);
    wm::attention(stream, attention.request());
    stream.synchronize();
    if (run == 0) out = attention.out_bits(), lse = attention.lse_bits();
    EXPECT_TRUE(attention.out_bits() == out) << run;
    EXPECT_TRUE(attention.lse_bits() == lse) << run;
  }
  EXPECT_LT(attention.error(), 1);
}

TEST_F(Attention, ServesTwoThreadsAndStreams) {
  std::vector<std::thread> threads;
  std::vector<double> errors(2);
  for (int t = 0; t < 2; ++t)
    threads.emplace_back([&, t] {
      const Stream own(device);
      for (int i = 0; i < 3; ++i) {
        AttentionCase c{
            .heads = 2, .kv_heads = 2, .queries = 100 + 50 * t, .keys = 200, .head_dim = 64, .value_dim = 64};
        const RandomAttention attention(own, c, static_cast<std::uint64_t>(10 * t + i));
        wm::attention(own, attention.request());
        own.synchronize();
        errors[static_cast<std::size_t>(t)] = std::max(errors[static_cast<std::size_t>(t)], attention.error());
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_LT(errors[0], 1);
  EXPECT_LT(errors[1], 1);
}

// Nothing: the library's own choice. Others: two blocks together, where they may.
std::optional<AttentionPlan> plan_of_random(std::size_t number, const AttentionCase& c, TensorInstruction instruction) {
  if (number % 2 == 0) return std::nullopt;
  if (instruction == TensorInstruction::wgmma) {
    if (number % 4 == 1 || !c.sequences.empty() || !c.key_lengths.empty() || !c.skip.empty() || !c.whole.empty())
      return std::nullopt;
    return AttentionPlan{.keys = 32, .groups = c.value_dim <= 64 ? 3 : 2, .strips = 1, .pair = true};
  }
  const bool claims = number % 4 == 1 && c.sequences.empty();
  return AttentionPlan{.keys = number % 3 == 0 ? 32 : 64,
                       .stages = 1,
                       .instruction = instruction,
                       .tiles = claims ? TileSource::claims : TileSource::share,
                       .pair = true};
}

// Several at a time, each thread with a stream of its own.
TEST_F(Attention, IsRightForRandomProblems) {
  std::mt19937_64 dice(20);
  const auto up_to = [&](std::int64_t n) {
    return static_cast<std::int64_t>(dice() % static_cast<std::uint64_t>(n + 1));
  };
  std::vector<AttentionCase> problems(static_cast<std::size_t>(asked("ATTENTION_TEST_CASES", settings.attentions)));
  for (AttentionCase& c : problems) {
    const int dims[] = {64, 128, 192, 256};
    c.head_dim = up_to(1) ? dims[up_to(3)] : 8 * static_cast<int>(1 + up_to(31));
    c.value_dim = up_to(2) ? c.head_dim : 8 * static_cast<int>(1 + up_to(31));
    c.dtype = std::array{bf16, f16, e4m3}[static_cast<std::size_t>(up_to(2))];
    if (c.narrow()) {
      c.head_dim = (c.head_dim + 15) / 16 * 16, c.value_dim = (c.value_dim + 15) / 16 * 16;
      c.out_dtype = std::array{bf16, f16, e4m3}[static_cast<std::size_t>(up_to(2))];
      c.scales = bench::Scales(up_to(2));
    }
    c.kv_heads = 1 + up_to(1);
    c.heads = c.kv_heads * (1 + up_to(2));
    c.queries = 1 + up_to(settings.longest_attention), c.keys = up_to(settings.longest_attention);
    c.batch = 1 + up_to(1);
    c.layout = HeadLayout(up_to(1));
    if (up_to(2) == 0) {
      for (std::int64_t n = 1 + up_to(4); n > 0; --n)
        c.sequences.emplace_back(up_to(settings.longest_attention), up_to(settings.longest_attention));
      c.sequences.emplace_back(7, 9);
    }
    if (up_to(1)) c.mask.right = up_to(1) ? 0 : up_to(200);
    if (up_to(3) == 0) c.mask.left = up_to(200);
    if (up_to(1)) c.mask.alignment = Alignment::beginnings;
    if (up_to(5) == 0) c.softcap = std::array{10.f, 30.f, 50.f, 70.f}[static_cast<std::size_t>(up_to(3))];
    c.lse = up_to(1) == 0;
    c.alibi = up_to(3) == 0;
    c.sinks = up_to(3) == 0;
    if (up_to(3) == 0) c.queries = 1 + up_to(31), c.kv_heads = 1, c.heads = 1 + up_to(9);
    if (c.sequences.empty() && up_to(3) == 0)
      for (std::int64_t i = 0; i < c.batch; ++i) c.key_lengths.push_back(up_to(c.keys));
    if (c.sequences.empty() && c.key_lengths.empty() && up_to(4) == 0) c.set_documents(static_cast<int>(1 + up_to(9)));
    c.spread = up_to(3) ? 1 : 6;
    c.value_dim = std::min(c.value_dim, largest_value_dim);
  }
  std::vector<double> errors(problems.size(), INFINITY);
  std::atomic<std::size_t> next = 0;
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < std::thread::hardware_concurrency(); ++t)
    threads.emplace_back([&] {
      const Stream own(device);
      for (std::size_t i; (i = next++) < problems.size();) {
        const RandomAttention attention(own, problems[i], i);
        wm::attention(own, attention.request(plan_of_random(i, problems[i], instruction)));
        own.synchronize();
        errors[i] = attention.error(300);
      }
    });
  for (auto& thread : threads) thread.join();
  for (std::size_t i = 0; i < problems.size(); ++i) {
    const AttentionCase& c = problems[i];
    EXPECT_LT(errors[i], 1) << fmt::format("problem {}: batch {} heads {}/{} {} x {} dims {}/{} {}{}", i, c.batch,
                                           c.heads, c.kv_heads, c.queries, c.keys, c.head_dim, c.value_dim,
                                           name_of(c.dtype), c.sequences.empty() ? "" : ", sequences");
  }
}

}  // namespace wm::test
