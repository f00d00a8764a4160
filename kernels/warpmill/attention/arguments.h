// What the attention kernels get. Plain C++, shared by host and device.
#pragma once

#include "warpmill/attention/schedule.h"
#include "warpmill/shared_types.h"

namespace wm {

// One number for each batch and head of K and V, f32 in device memory; strides in elements, 0 where one serves all.
struct HeadScales {
  unsigned long long at;  // 0: none, all are 1
  long long batch_stride, head_stride;
  constexpr bool operator==(const HeadScales&) const = default;
};

// A capped score in powers of two, as a series of odd powers of the score s up to the fifth:
// outer s ((s^2 + middle)^2 + rest). So written, no instruction has more than one operand that is the same for all
// scores, and the compiler takes it from a uniform register (of 16-bit elements: it is an argument).
struct SoftcapSeries {
  float middle, rest, outer;
  float most;  // it is right where the capped score is at most this; 0: nowhere

  // Of scores that are yet to be multiplied with `factor`. It reaches nowhere where its numbers would be too large for
  // f32: what outer is multiplied with is 1.2 most / outer at the end of its reach.
  constexpr SoftcapSeries of(float factor) const {
    const float square = factor * factor, fourth = square * square;
    const float scaled = outer * fourth * factor, size = scaled < 0 ? -scaled : scaled;
    const bool fits = size >= most * 1e-37f && size <= 3e38f;
    return {middle / square, rest / fourth, scaled, fits ? most : 0.f};
  }
};

// Where a plan is grounded (capped_softmax.cuh): a series is right for powers of at most `most`, and what it makes of
// smaller scores than it reaches does not count in sums of `least` or more.
struct LowCapLimits {
  float most, least;
};
// And there a shorter series for the scores near 0, s (first + third min(s^2, 1)): queries are multiplied with
// `query_factor`, a power of two, so that beyond a square of 1 it may go on as a line, and rises everywhere. Its limits
// are those of LowCapLimits, the second for each key of the sequence.
struct NearCap {
  float query_factor, first, third;
  float most, least_of_key;
};

struct AttentionArguments {
  TensorMap q, k, v, out;  // (dim, position, head, batch); boxes of one swizzle width by 64 queries, by a
                           // step of keys (of a pair half of one), and of the output by a warp's rows
  unsigned queries, keys;  // of every sequence; where sequences have offsets, of none
  unsigned head_ratio;     // query heads for each head of K and V
  unsigned packed_log2;    // of the queries of each head, where rows of several are packed into a tile
  // Offsets of sequences among all queries and all keys: batches + 1 numbers each, in device memory.
  unsigned long long query_offsets, key_offsets;
  // Query i sees keys i + shift - left to i + shift + right. The shift aligns the last query with the last key.
  bool align_ends;
  int left, right;
  float scale_log2;              // of a score, on its way to the power of two
  float softcap_inner;           // tanh's argument, of a score; scale_log2 then follows the tanh
  SoftcapSeries softcap_series;  // the same without tanh
  LowCapLimits low_cap;          // of that series
  NearCap near_cap;
  unsigned long long lse;                       // 0: none is written
  long long lse_batch_stride, lse_head_stride;  // elements; positions lie side by side
  unsigned long long out_at;                    // for rows that end inside a tile, where sequences have offsets
  long long out_position_stride, out_head_stride;
  unsigned long long counter;  // TileCounter
  QuerySchedule schedule;
  // f32 for each head, in device memory: ALiBi's slopes and sinks' logits. A slope times alibi_unit counts in scores
  // that scale_log2 has yet to scale.
  unsigned long long slopes, sinks;
  float alibi_unit;
  unsigned long long key_lengths;  // a number for each batch, in device memory
  // For expressions: what takes a product (or, with a softcap, its tanh) to a score, and the caller's arrays.
  float score_scale;
  static constexpr int most_arrays = 8;
  unsigned long long arrays[most_arrays];
  // Of e4m3: what its numbers are to be multiplied with, and the output on its way to e4m3 (f32 in device memory, or
  // 0).
  HeadScales q_scales, k_scales, v_scales;
  unsigned long long out_scale;
};

}  // namespace wm
