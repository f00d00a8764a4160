// An attention's kind: what is computed. All of it is part of what is compiled; lengths and counts of heads are not.
// Plain C++, shared by host and device.
#pragma once

#include "warpmill/shared_types.h"

namespace wm {

// Which keys a query may see, besides those of its own sequence.
struct MaskFacts {
  bool right = false;  // none beyond so many to the right: causal where that is 0
  bool left = false;   // none beyond so many to the left: then there is a limit to the right too, if only a far one

  template <class Facts, class Visit>
  static constexpr void each_field(Facts& facts, Visit&& visit) {
    visit("right", facts.right);
    visit("left", facts.left);
  }
  constexpr bool operator==(const MaskFacts&) const = default;
};

// ALiBi: scores lose a slope of their head times the distance from the key opposite the query. Where a mask hides all
// keys behind that one, the bias of a row is one line.
enum class Alibi : unsigned char { none, before, both_sides };

// Which expressions of the caller's own there are: of a score, and of whether a query sees a key; and, for some queries
// of a tile that follow each other and all keys of a step, that none of them sees any, and that every one sees all.
struct ExpressionFacts {
  bool score = false, mask = false, skip = false, whole = false;

  constexpr bool any() const { return score || mask || skip || whole; }
  constexpr bool of_steps() const { return skip || whole; }
  template <class Facts, class Visit>
  static constexpr void each_field(Facts& facts, Visit&& visit) {
    visit("score", facts.score);
    visit("mask", facts.mask);
    visit("skip", facts.skip);
    visit("whole", facts.whole);
  }
  constexpr bool operator==(const ExpressionFacts&) const = default;
};

struct AttentionKind {
  DType element = DType::bf16;  // of Q, K, V and the output
  DType out = DType::bf16;      // of the output, where elements are e4m3
  int head_dim = 128;           // of Q and K: a multiple of 8 (e4m3: 16), as the value dim
  int value_dim = 128;          // of V and the output
  MaskFacts mask{};
  bool softcap = false;    // scores go through softcap * tanh(score / softcap)
  bool low_cap = false;    // and is so low that powers of scores fit f32 as they are, if not too low for a series
  bool sequences = false;  // sequences of a batch lie one behind the other, by offsets in device memory
  bool lengths = false;    // each batch has a number of keys of its own, in device memory
  Alibi alibi = Alibi::none;
  bool sinks = false;  // each row's sum has one more logit, its head's
  ExpressionFacts expressions{};

  template <class Kind, class Visit>
  static constexpr void each_field(Kind& kind, Visit&& visit) {
    visit("element", kind.element);
    visit("out", kind.out);
    visit("head_dim", kind.head_dim);
    visit("value_dim", kind.value_dim);
    visit("mask", kind.mask);
    visit("softcap", kind.softcap);
    visit("low_cap", kind.low_cap);
    visit("sequences", kind.sequences);
    visit("lengths", kind.lengths);
    visit("alibi", kind.alibi);
    visit("sinks", kind.sinks);
    visit("expressions", kind.expressions);
  }
  constexpr bool operator==(const AttentionKind&) const = default;

  // e^55 is less than 2^80: sums fit f32 where the number of keys times the largest value is less than 2^48. Under a
  // cap of less than 20 a row of a few keys has too small a sum (LowCapSeries::least), and all would take tanh.
  static constexpr float least_low_cap = 20, most_low_cap = 55;
  constexpr void cap(float softcap_or_0) {
    softcap = softcap_or_0 > 0;
    low_cap = softcap_or_0 >= least_low_cap && softcap_or_0 <= most_low_cap;
  }

  // Whether keys end inside what the copy engine brings, so that others' may follow them.
  constexpr bool has_tails() const { return sequences || lengths; }
  // 8-bit elements: they come with scales.
  constexpr bool narrow() const { return element == DType::e4m3; }
  constexpr DType out_element() const { return narrow() ? out : element; }
};

}  // namespace wm
