// out = softmax(scale Q K^T) V: attention on the tensor cores.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "warpmill/api.hpp"
#include "warpmill/attention/plan.h"
#include "warpmill/buffer.hpp"
#include "warpmill/device.hpp"
#include "warpmill/trace.hpp"

namespace wm {

// Which key is opposite a query: with lengths that differ, counted from the ends (the last query sees the last key, as
// in flash_attn) or from the beginnings (as in torch).
enum class Alignment { ends, beginnings };

// Query i sees keys i - left to i + right of those opposite it; nothing given is no limit. Causal: right = 0.
struct AttentionMask {
  std::optional<std::int64_t> left{}, right{};
  Alignment alignment = Alignment::ends;

  static AttentionMask causal(Alignment alignment = Alignment::ends) { return {.right = 0, .alignment = alignment}; }
};

// Sequences of different lengths one behind the other: sequence i has the positions offsets[i] to offsets[i + 1] - 1.
// The offsets are i32 in device memory, one more than there are sequences, and do not fall. The lengths of the longest
// help to choose a plan, where they are known (0: they are not); the result is the same.
struct AttentionSequences {
  View query_offsets, key_offsets;
  std::int64_t longest_queries = 0, longest_keys = 0;
};

// C++ expressions of the caller's own, compiled into the kernel. In scope: q and k, the positions of query and key in
// their sequence (or batch), head (of Q), batch (or the sequence's number), queries and keys (how many there are), and
// the caller's arrays by name, which are read as C++ reads them: "bias[head * keys + k]". They have no side effects,
// and say the same to whoever asks, whenever.
struct AttentionArray {
  std::string name;
  View view;  // f32, f64 or integers, dense
};
struct AttentionExpressions {
  std::string score;  // what becomes of a score, scaled and capped: "score + slope[head] * (k - q)"
  std::string mask;   // whether the query sees the key: "document[q] == document[k]"
  // With a mask, of the queries q_first to q_last and the keys k_first to k_last: that no query sees any of the keys,
  // so that they need not be visited; and that every query sees all of them, so that nobody need ask the mask. They are
  // asked about the queries of a tile, about a part of these, and about one alone. Where one says nothing, the mask is
  // asked; where one is wrong, so is the result. No skip with sequences.
  std::string skip, whole;
  std::vector<AttentionArray> arrays{};  // 8 at most
};

// Q[batch, heads, queries, dim], K[batch, kv heads, keys, dim], V[batch, kv heads, keys, value dim], out[batch, heads,
// queries, value dim], all bf16 or all f16, or Q, K and V e4m3 and out bf16, f16 or e4m3; a head of K and V serves
// heads / kv heads of Q in a row. Any strides in multiples of 16 bytes, so that [batch, positions, heads, dim] and
// parts of a packed QKV are views like any others; the elements of a head lie side by side. With sequences there is no
// batch dimension. Head dims: any multiple of 8 (e4m3: of 16) up to 256; value dims the same. On sm_100a value dims go
// up to 128.
struct AttentionRequest {
  View q, k, v, out;
  std::optional<View> lse{};     // f32 [batch, heads, queries]: the natural logarithm of each row's sum of exponentials
  std::optional<float> scale{};  // of scores; 1 / sqrt(dim) where there is none
  AttentionMask mask{};
  // Scores become softcap * tanh(score / softcap); 0: they stay. In bf16, where it is between 20 and 55, keys times
  // the largest value must be less than 2^48 on sm_90a, and an output is within 2^-13 of the largest value that its row
  // sees, besides the usual rounding (docs/attention.md).
  float softcap = 0;
  // f32 [heads] each. ALiBi: a score loses its head's slope times the distance from the key opposite the query, after
  // the softcap. A sink is one more logit in each row's sum of exponentials (the logarithm has it too), and has no
  // value.
  std::optional<View> alibi_slopes{}, sinks{};
  // With e4m3, f32 in device memory: what its numbers stand for when multiplied with. One number, or one for each batch
  // (or sequence) and head of K and V, [batch, kv heads]; Q's too. Positive; where there is none, 1. The output is
  // multiplied with out_scale, one number, before it is rounded to e4m3.
  std::optional<View> q_descale{}, k_descale{}, v_descale{}, out_scale{};
  AttentionExpressions expressions{};
  // i32 [batch], in device memory: so many of the keys of each batch count, as of a cache that has room for more. What
  // lies beyond is not looked at. Without sequences.
  std::optional<View> key_lengths{};
  std::optional<AttentionSequences> sequences{};
  std::optional<AttentionPlan> plan{};  // by hand (its kind is filled in)
  Trace* trace = nullptr;  // where a timeline of the launch goes: a build with stamps runs, and the call waits for it
};

struct AttentionResult {
  AttentionPlan plan;  // what ran
  unsigned blocks = 0;
  bool tuned = false;  // the plan was measured for this shape, not estimated
};

// Puts the attention into the stream. A query that sees no key gets zeros, and for its logarithm its sink or -infinity.
// The first call with a kind may compile and load a kernel (or take it from the cache): make it before a graph capture
// begins. Later calls only launch, and may be captured. The result is the same bits every time. A request that cannot
// be served is refused in words before anything is launched.
WARPMILL_API AttentionResult attention(const Stream& stream, const AttentionRequest& request);

}  // namespace wm
