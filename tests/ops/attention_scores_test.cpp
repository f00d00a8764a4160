// What becomes of an attention's scores: caps, scales, maxima that move, and what is no number.
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "attention/random_attention.hpp"
#include "ops/attention_fixture.hpp"

namespace wm::test {

using bench::AttentionCase;
using bench::HeadLayout;
using bench::RandomAttention;
using enum DType;

TEST_F(Attention, CapsScoresSoftly) {
  // Small scores under a large cap take the series, others tanh; between the two a tile changes over. The last cap is
  // too large for the series. Caps of 20 to 55 in bf16 have a softmax of their own.
  for (const DType dtype : {bf16, f16})
    for (const auto& [softcap, spread] :
         {std::pair{1.f, 4.f}, {15.f, 4.f}, {50.f, 4.f}, {60.f, 4.f}, {30.f, 1.f}, {30.f, 2.f}, {1e12f, 1.f}}) {
      AttentionCase c = several_tiles();
      c.dtype = dtype;
      c.keys = 700;
      c.softcap = softcap;
      c.spread = spread;
      SCOPED_TRACE(fmt::format("{}, softcap {}, spread {}", name_of(dtype), softcap, spread));
      check(stream, c);
    }
  // Steps without a mask between two that have one; under a cap of 3 a key that is hidden too early would count.
  for (const float softcap : {3.f, 15.f, 50.f}) {
    AttentionCase c{.heads = 1, .kv_heads = 1, .queries = 64, .keys = 1200, .mask = {.left = 1000, .right = 0}};
    c.softcap = softcap;
    SCOPED_TRACE(fmt::format("softcap {}, window", softcap));
    check(stream, c);
  }
}

// Powers of capped scores serve as they are where the cap is low: at both of its ends, and where the series is not
// right, by its scores' size or because all of a row are too small for it.
TEST_F(Attention, CapsLowAtBothEnds) {
  AttentionCase c{.heads = 1, .kv_heads = 1, .queries = 100, .keys = 500, .head_dim = 64, .value_dim = 64};
  c.lse = c.sinks = true;
  for (const float softcap : {30.f, 55.f})
    for (const float size : {-4.f, -1.6f, -1.f, -0.5f, -0.4f, 0.3f, 0.42f, 0.9f, 3.f}) {  // of the scores, in caps
      SCOPED_TRACE(fmt::format("softcap {}, scores of about {} of it", softcap, size));
      c.softcap = softcap;
      c.scale = 1.f;
      RandomAttention attention(stream, c, 5);
      double sum = 0;
      for (float& x : attention.q) x = std::abs(x) + 0.5f;
      for (float& x : attention.k) sum += x = std::abs(x) + 0.5f;
      const double mean = sum / static_cast<double>(attention.k.size());
      const auto factor = static_cast<float>(size * softcap / (mean * mean * 64));
      for (float& x : attention.k) x *= factor;
      for (float& x : attention.v) x *= 0x1p20f;
      attention.upload(stream);
      wm::attention(stream, attention.request());
      stream.synchronize();
      EXPECT_LT(attention.error(), 1);
    }
}

// The short series of a low cap, which the first step's sums speak for, where later steps have larger scores, or so
// many small ones that what it makes of them would count: all that has a value here. Of how many keys there are a
// sequence's own number tells, whatever is said of the longest.
TEST_F(Attention, CapsLowWithTheShortSeriesNoFurtherThanItReaches) {
  const auto capped = [&](AttentionCase c, std::int64_t longest, const auto& share, const auto& value) {
    RandomAttention attention(stream, c, 5);
    const std::int64_t keys = static_cast<std::int64_t>(attention.k.size()) / c.head_dim;
    for (float& x : attention.q) x = 1;
    for (std::int64_t j = 0; j < keys; ++j) {
      const auto row = [&](bool of_v) { return attention.kv_index(0, 0, j, of_v); };
      const auto score = static_cast<float>(wm::bf16(static_cast<float>(share(keys - 1 - j)) * c.softcap / 64));
      for (std::size_t i = 0; i < 64; ++i) {
        attention.k[row(false) + i] = score;
        attention.v[row(true) + i] = value(keys - 1 - j);
      }
    }
    attention.upload(stream);
    AttentionRequest request = attention.request();
    if (request.sequences) request.sequences->longest_keys = longest;
    wm::attention(stream, request);
    stream.synchronize();
    EXPECT_LT(attention.error(), 1);
  };
  AttentionCase c{.heads = 1, .kv_heads = 1, .queries = 64, .keys = 600, .head_dim = 64, .value_dim = 64};
  c.softcap = 50, c.scale = 1.f;
  const auto rising = [](std::int64_t from_last) { return 0.05 + 0.001 * static_cast<double>(from_last); };
  const auto one_and_many = [](std::int64_t from_last) { return from_last == 0 ? -0.21 : -0.6; };
  capped(c, 0, rising, [](std::int64_t) { return 1.f; });
  const auto of_many = [](std::int64_t from_last) { return from_last == 0 ? 0.f : 1024.f; };
  capped(c, 0, one_and_many, of_many);
  c.sequences = {{64, 600}};
  c.layout = HeadLayout::positions_first;
  for (const std::int64_t longest : {0, 1, 1000}) {
    SCOPED_TRACE(longest);
    capped(c, longest, one_and_many, of_many);
  }
}

// Where the series has numbers that are too large, scores below zero would weigh nothing.
TEST_F(Attention, CapsScoresBelowZeroWhateverTheirScales) {
  const auto below_zero = [&](const AttentionCase& c, float size, float descale) {
    SCOPED_TRACE(fmt::format("{}, softcap {}, scale {}, descale {}", name_of(c.dtype), c.softcap, *c.scale, descale));
    RandomAttention attention(stream, c, 3);
    for (float& x : attention.q) x = size * std::abs(x);
    for (float& x : attention.k) x = -size * std::abs(x);
    attention.upload(stream);
    AttentionRequest request = attention.request();
    const Buffer scale = Buffer::of<float>(device, std::vector{descale});
    if (c.dtype == e4m3) {
      request.q_descale = scale.view(f32, {1}), request.k_descale = scale.view(f32, {1});
      request.scale = *c.scale / (descale * descale);
    }
    wm::attention(stream, request);
    stream.synchronize();
    EXPECT_LT(attention.error(), 1);
  };
  AttentionCase c{.heads = 1, .kv_heads = 1, .queries = 64, .keys = 900, .head_dim = 64, .value_dim = 64};
  for (const auto& [softcap, scale] : {std::pair{1.f, 0.125f},
                                       {10.f, 0.125f},
                                       {19.9f, 0.125f},
                                       {20.f, 0.125f},
                                       {30.f, 0.f},  // which leaves nothing to scale queries by
                                       {50.f, 0.125f},
                                       {1e7f, 0.125f},
                                       {1e8f, 0.125f},
                                       {2e5f, 1e-3f}}) {
    c.softcap = softcap, c.scale = scale;
    below_zero(c, 1, 1);
  }
  c.softcap = 30;
  for (const auto& [scale, size] : {std::pair{1e10f, 1e-5f}, {1e-22f, 1e11f}}) {  // no power of two for queries
    c.scale = scale;
    below_zero(c, size, 1);
  }
  c.dtype = e4m3, c.softcap = 50;
  for (const float descale : {1e-2f, 3e-3f, 1e-3f}) {
    c.scale = 0.125f * descale * descale;
    below_zero(c, 64, descale);
  }
}

TEST_F(Attention, TakesAScaleOfTheCallers) {
  for (const float scale : {0.f, 0.01f, 1.f}) {
    AttentionCase c = several_tiles();
    c.scale = scale;
    SCOPED_TRACE(scale);
    check(stream, c);
  }
}

// Keys that grow make every step's maximum larger than the one before, by a little and by very much.
TEST_F(Attention, FollowsMaximaThatMove) {
  for (const auto& [dtype, growth] : std::vector<std::pair<DType, float>>{
           {DType::bf16, 0.02f}, {DType::bf16, 0.3f}, {DType::bf16, 3.f}, {DType::f16, 0.05f}}) {
    AttentionCase c{.heads = 1, .kv_heads = 1, .queries = 130, .keys = 900, .dtype = dtype};
    RandomAttention attention(stream, c, 3);
    for (std::int64_t j = 0; j < c.keys; ++j)
      for (int i = 0; i < c.head_dim; ++i) {
        float& x = attention.k[attention.kv_index(0, 0, c.keys - 1 - j, false) + static_cast<std::size_t>(i)];
        x *= 1 + growth * static_cast<float>(j);
        x = dtype == DType::f16 ? static_cast<float>(wm::f16(x)) : static_cast<float>(wm::bf16(x));
      }
    attention.upload(stream);
    wm::attention(stream, attention.request());
    stream.synchronize();
    EXPECT_LT(attention.error(), 1) << name_of(dtype) << ", " << growth;
  }
}

// What a row sees decides what reaches it: nothing of other rows' keys, of other sequences or heads.
// Keys 40 of head 1 and 69 (the last) of another sequence are bad, and a value of head 0: a bad key reaches the rows
// that see it, a bad value at most the query tiles that read its step.
TEST_F(Attention, KeepsNansWhereTheyAreSeen) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  const AttentionPlan plan{.keys = 64, .instruction = instruction};
  const int tile = plan.rows(), bad_value = tile + 2;  // seen by rows from there on; read by the tile of the last rows
  for (const float bad : {nan, inf, -inf}) {
    AttentionCase c{.heads = 2, .kv_heads = 2, .mask = AttentionMask::causal(), .layout = HeadLayout::positions_first};
    c.sequences = {{100, 100}, {tile + 62, tile + 62}, {70, 70}};
    RandomAttention attention(stream, c, 5);
    attention.k[attention.kv_index(1, 1, 40, false)] = bad;
    attention.v[attention.kv_index(1, 0, bad_value, true)] = bad;
    attention.k[attention.kv_index(2, 0, 69, false)] = bad;
    attention.upload(stream);
    wm::attention(stream, attention.request(plan));
    stream.synchronize();
    const auto rows = attention.rows();
    const auto finite = [&](int sequence, int head, int position) {
      for (const float x : rows(sequence, head, position))
        if (!std::isfinite(x)) return false;
      return true;
    };
    for (int i = 0; i < 100; ++i)
      for (int head = 0; head < 2; ++head)
        EXPECT_TRUE(finite(0, head, i)) << "sequence 0, head " << head << " row " << i;
    for (int i = 0; i < 40; ++i) EXPECT_TRUE(finite(1, 1, i)) << "row " << i << " does not see the bad key";
    for (int i = 0; i < tile; ++i) EXPECT_TRUE(finite(1, 0, i)) << "row " << i << " is of a tile before the bad value";
    EXPECT_FALSE(finite(1, 0, bad_value)) << "a value that is seen";
    for (int i = 0; i < 70; ++i) EXPECT_TRUE(finite(2, 1, i)) << "sequence 2, head 1, row " << i;
    for (int i = 0; i < 69; ++i) EXPECT_TRUE(finite(2, 0, i)) << "sequence 2, head 0, row " << i;
    EXPECT_FALSE(std::isnan(bad) && finite(1, 1, 40));
    EXPECT_FALSE(std::isnan(bad) && finite(2, 0, 69));
  }
  // A score that is infinite leaves no number of its row, whichever key's it is.
  AttentionCase c{.heads = 1, .kv_heads = 1, .queries = 20, .keys = 64};
  RandomAttention attention(stream, c, 5);
  for (int i = 0; i < 20; ++i) attention.q[attention.q_index(0, 0, i)] = 3e38f;
  for (int i = 0; i < 64; ++i) attention.k[attention.kv_index(0, 0, i, false)] = i == 10 ? 2.f : 0.f;
  attention.upload(stream);
  wm::attention(stream, attention.request());
  stream.synchronize();
  const auto rows = attention.rows();
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(std::isnan(rows(0, 0, i)[0])) << "row " << i;
}

}  // namespace wm::test
