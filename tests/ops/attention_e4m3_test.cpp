// Attention of e4m3: its types, scales, values that are transposed on their way (sm_90a), and weights rounded to 8
// bits. Every row is compared with float64 whose weights are rounded as the kernel rounds them.
#include <cmath>
#include <limits>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ops/attention_fixture.hpp"
#include "plan/attention_plan_text.hpp"
#include "warpmill/dtype.hpp"

namespace wm::test {

using bench::AttentionCase;
using bench::HeadLayout;
using bench::RandomAttention;
using bench::Scales;
using enum DType;

namespace {

AttentionCase of_e4m3(int dim = 128) {
  return {.heads = 2, .kv_heads = 2, .queries = 200, .keys = 333, .head_dim = dim, .value_dim = dim, .dtype = e4m3};
}

}  // namespace

TEST_F(Attention, ServesE4m3OfEveryHeadDimToEveryType) {
  for (const auto& [dim, value_dim, out, scales] :
       std::vector<std::tuple<int, int, DType, Scales>>{{64, 64, bf16, Scales::none},
                                                        {64, 64, e4m3, Scales::heads},
                                                        {128, 128, bf16, Scales::heads},
                                                        {128, 128, f16, Scales::tensor},
                                                        {192, 128, e4m3, Scales::tensor},
                                                        {256, 112, f16, Scales::heads},
                                                        {256, 256, bf16, Scales::tensor},
                                                        {256, 256, e4m3, Scales::heads},
                                                        {16, 16, bf16, Scales::heads},
                                                        {80, 208, f16, Scales::none},
                                                        {144, 48, e4m3, Scales::none}}) {
    if (value_dim > largest_value_dim) continue;
    SCOPED_TRACE(fmt::format("{}/{} to {}", dim, value_dim, name_of(out)));
    AttentionCase c = of_e4m3(dim);
    c.value_dim = value_dim, c.out_dtype = out, c.scales = scales;
    check(stream, c);
  }
}

// Weights made early, and most of them by the FMA units or none.
TEST_F(Attention, WeighsInEveryWay) {
  const auto tcgen05 = TensorInstruction::tcgen05;
  for (const AttentionPlan plan : {AttentionPlan{.keys = 64, .early = true},
                                   {.keys = 32, .stages = 3, .instruction = tcgen05, .fma_pairs = 12},
                                   {.keys = 128, .stages = 1, .instruction = tcgen05, .tiles = TileSource::claims}})
    for (const DType dtype : {bf16, e4m3}) {
      if (plan.instruction != instruction) continue;
      SCOPED_TRACE(fmt::format("{} {}", plan::text_of(plan), name_of(dtype)));
      AttentionCase c = of_e4m3();
      c.dtype = dtype;
      check(stream, c, plan);
      c.mask = {.left = 100, .right = 0};
      check(stream, c, plan);
      c.spread = 20, c.mask = {};  // bases move; weights that grow too large are made again
      check(stream, c, plan);
    }
}

// A number for each batch and head of K, which several heads of Q share, or for each sequence; strides of any kind.
TEST_F(Attention, ScalesE4m3ByBatchAndHead) {
  AttentionCase c = of_e4m3(64);
  c.batch = 2, c.heads = 6, c.kv_heads = 3, c.scales = Scales::heads, c.mask = AttentionMask::causal();
  check(stream, c);
  c.softcap = 5;
  check(stream, c);
  c.softcap = 30, c.spread = 3;  // by a series
  check(stream, c);
  c.softcap = 0, c.spread = 1, c.alibi = c.sinks = true;
  check(stream, c);
  c.alibi = false, c.layout = HeadLayout::positions_first, c.sequences = {{100, 100}, {7, 150}, {64, 33}};
  check(stream, c);
}

TEST_F(Attention, TakesScalesOfE4m3OfAnySize) {
  AttentionCase c = of_e4m3(64);
  const RandomAttention attention(stream, c, 1);
  AttentionRequest request = attention.request();
  const Buffer small = Buffer::of<float>(device, std::vector{1e-7f}),
               large = Buffer::of<float>(device, std::vector{1e3f});
  for (const auto& [of_q, of_k, back] : {std::tuple{&small, &small, 1e14f}, {&large, &small, 1e4f}}) {
    request.q_descale = of_q->view(f32, {1}), request.k_descale = of_k->view(f32, {1});
    request.scale = 0.125f * back;
    attention.poison(stream);
    wm::attention(stream, request);
    stream.synchronize();
    EXPECT_LT(attention.error(), 1) << "scales whose product is 1 / " << back;
  }
}

// All scores are alike then, but for those that are not seen.
TEST_F(Attention, TakesAScaleOfE4m3OfZero) {
  AttentionCase c = of_e4m3(64);
  c.scale = 1e-30f, c.mask = AttentionMask::causal();
  const RandomAttention attention(stream, c, 1);
  AttentionRequest request = attention.request();
  const Buffer zero = Buffer::of<float>(device, std::vector{0.f});
  request.k_descale = zero.view(f32, {1}), request.scale = 0.125f;
  wm::attention(stream, request);
  stream.synchronize();
  EXPECT_LT(attention.error(), 1);
}

TEST_F(Attention, TakesScalesOfE4m3WithAnyStrides) {
  AttentionCase c = of_e4m3(64);
  c.batch = 2, c.scales = Scales::heads;
  const RandomAttention attention(stream, c, 1);
  AttentionRequest request = attention.request();
  // The same numbers, one for each head before the one for each batch, with room between them.
  std::vector<float> given(4), spread(16);
  stream.download(std::as_writable_bytes(std::span(given)), request.k_descale->address);
  stream.synchronize();
  for (std::size_t batch = 0; batch < 2; ++batch)
    for (std::size_t head = 0; head < 2; ++head) spread[head * 6 + batch * 3] = given[batch * 2 + head];
  const Buffer numbers = Buffer::of<float>(device, spread);
  request.k_descale = numbers.view(f32, {2, 2}, {3, 6});
  wm::attention(stream, request);
  stream.synchronize();
  EXPECT_LT(attention.error(), 1);
}

// Keys that grow make every step's maximum larger than the one before, so that weights made without a look reach what
// e4m3 does not hold.
TEST_F(Attention, FollowsMaximaThatMoveInE4m3) {
  for (const float growth : {0.005f, 0.03f, 0.3f}) {
    AttentionCase c{.heads = 1, .kv_heads = 1, .queries = 130, .keys = 900, .dtype = e4m3};
    RandomAttention attention(stream, c, 3);
    for (std::int64_t j = 0; j < c.keys; ++j)
      for (int i = 0; i < c.head_dim; ++i) {
        float& x = attention.k[attention.kv_index(0, 0, c.keys - 1 - j, false) + static_cast<std::size_t>(i)];
        x = static_cast<float>(wm::e4m3(x * (1 + growth * static_cast<float>(j))));
      }
    attention.upload(stream);
    wm::attention(stream, attention.request());
    stream.synchronize();
    EXPECT_LT(attention.error(), 1) << growth;
  }
}

// Values beyond the end of a sequence, or of the keys that count, are NaN or another sequence's: nobody gets them.
TEST_F(Attention, KeepsE4m3ValuesBeyondTheEndOut) {
  for (const int dim : {64, 128, 256}) {
    if (dim > largest_value_dim) continue;
    SCOPED_TRACE(dim);
    AttentionCase lengths = of_e4m3(dim);
    lengths.batch = 3, lengths.kv_heads = 1, lengths.key_lengths = {1, 77, 333};
    check(stream, lengths);
    AttentionCase sequences = of_e4m3(dim);
    sequences.layout = HeadLayout::positions_first;
    sequences.sequences = {{1, 1}, {130, 200}, {0, 0}, {64, 128}, {5, 0}, {129, 77}, {33, 300}};
    RandomAttention attention(stream, sequences, 1);
    for (int i = 0; i < dim; ++i)  // the first value of the sequence behind
      attention.v[attention.kv_index(3, 0, 0, true) + static_cast<std::size_t>(i)] =
          std::numeric_limits<float>::quiet_NaN();
    attention.upload(stream);
    wm::attention(stream, attention.request());
    stream.synchronize();
    const auto rows = attention.rows();
    for (int i = 0; i < 130; ++i)
      for (const float x : rows(1, 0, i)) ASSERT_TRUE(std::isfinite(x)) << i;
    for (const float x : rows(3, 0, 63)) ASSERT_TRUE(std::isnan(x));
  }
}

TEST_F(Attention, ServesE4m3WithMasksPackedRowsAndExpressions) {
  AttentionCase window = of_e4m3(64), packed = of_e4m3(128), documents = of_e4m3(64);
  window.mask = {.left = 40, .right = 10};
  check(stream, window);
  packed.heads = 8, packed.kv_heads = 2, packed.queries = 5, packed.mask = AttentionMask::causal();
  packed.scales = Scales::heads;
  check(stream, packed);
  documents.queries = documents.keys = 300, documents.scales = Scales::heads;
  documents.set_documents(4);
  check(stream, documents);
  documents.score = "score + 0.1f * slope[head]", documents.numbers = {{"slope", {1.f, -1.f}}};
  documents.score_of = [](double score, std::int64_t, std::int64_t, std::int64_t head, std::int64_t) {
    return score + (head == 0 ? 0.1 : -0.1);
  };
  check(stream, documents);
}

}  // namespace wm::test
