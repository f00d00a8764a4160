// An attention request, checked and put into one form: what to compute, and where everything lies.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "plan/attention_choice.hpp"
#include "warpmill/attention.hpp"
#include "warpmill/attention/arguments.h"

namespace wm::ops {

// A tensor by batch, head and position; the elements of a head lie side by side.
struct HeadTensor {
  std::uint64_t address = 0;
  std::int64_t batch_stride = 0, head_stride = 0, position_stride = 0;  // elements
  std::int64_t positions = 0;                                           // of one batch
  DType dtype = DType::bf16;
  bool operator==(const HeadTensor&) const = default;
};

// The caller's expressions; empty where there is none.
struct AttentionText {
  struct Array {
    std::string name;
    DType dtype;
    bool operator==(const Array&) const = default;
  };
  std::string score, mask, skip, whole;
  std::vector<Array> arrays;

  bool operator==(const AttentionText&) const = default;
};

struct AttentionProblem {
  AttentionKind kind;
  std::int64_t batch = 1, heads = 1, kv_heads = 1;  // batch: sequences where they have offsets
  std::int64_t queries = 0, keys = 0;               // of each sequence, or of the longest
  HeadTensor q, k, v, out, lse;
  std::uint64_t query_offsets = 0, key_offsets = 0;
  std::uint64_t slopes = 0, sinks = 0, key_lengths = 0;  // addresses
  HeadScales q_scales{}, k_scales{}, v_scales{};
  std::uint64_t out_scale = 0;
  AttentionText text;
  std::array<std::uint64_t, AttentionArguments::most_arrays> arrays{};
  std::int64_t left = 0, right = 0;
  bool align_ends = true;
  float scale = 1, softcap = 0;

  bool operator==(const AttentionProblem&) const = default;
  plan::AttentionShape shape() const { return {batch, heads, kv_heads, queries, keys, left, right, align_ends}; }
};

// Refuses in words what cannot be served.
AttentionProblem understand(const Stream& stream, const AttentionRequest& request);

}  // namespace wm::ops
