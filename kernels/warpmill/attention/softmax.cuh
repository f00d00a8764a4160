// Online softmax, in powers of two: the scores of each step become weights relative to a base, which is the largest
// score of some step before, or not much less than the largest so far.
#pragma once

#include "warpmill/tile/fragment.cuh"
#include "warpmill/types.cuh"

namespace wm {

// 2^x by the special-function units: 16 per clock and multiprocessor.
WM_DEVICE f32 power_of_two(f32 x) {
  f32 power;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x));
  return power;
}

WM_DEVICE f32 tanh_approximate(f32 x) {
  f32 y;
  asm("tanh.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

WM_DEVICE f32 reciprocal(f32 x) {
  f32 y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// Once all scores are weighed: 1 / sum of each row (0 where no key was seen), and its logarithm in powers of two.
struct SoftmaxTotals {
  RowPair inverse, log2;
};

// From the sum of each row, and what its weights are relative to: -infinity where no key was seen.
WM_DEVICE SoftmaxTotals totals_of(RowPair sum, RowPair base) {
  SoftmaxTotals totals;
#pragma unroll
  for (int row = 0; row < 2; ++row) {
    const bool none = sum.value[row] == 0.f;
    totals.inverse.value[row] = none ? 0.f : reciprocal(sum.value[row]);
    totals.log2.value[row] = none ? -infinity : __log2f(sum.value[row]) + base.value[row];
  }
  return totals;
}
WM_DEVICE SoftmaxTotals totals_of(RowPair sum, RowPair bases, RowPair sinks) {
  SoftmaxTotals totals;
#pragma unroll
  for (int row = 0; row < 2; ++row) {
    const f32 base = bases.value[row], sink = sinks.value[row], most = fmaxf(base, sink);
    const f32 factor = base == -infinity ? 0.f : power_of_two(base - most);
    const f32 total = sum.value[row] * factor + (sink == -infinity ? 0.f : power_of_two(sink - most));
    const bool none = total == 0.f;
    totals.inverse.value[row] = none ? 0.f : factor * reciprocal(total);
    totals.log2.value[row] = none ? -infinity : __log2f(total) + most;
  }
  return totals;
}

// Weights 2^power(score, half), rounded for the next product, and what they add to the thread's sums. `half` is which
// of its rows.
template <class Element, int columns, class Power>
WM_DEVICE RowPair powers_of_two(const Fragment<columns>& scores, RegisterOperand<Element, columns>& weights,
                                const Power& power) {
  RowPair sum{0.f, 0.f};
  // One row, then the other: an operand that neighbouring instructions share is read once from the register file,
  // which other groups' products keep busy.
#pragma unroll
  for (int half = 0; half < scores.halves; ++half)
#pragma unroll
    for (int i = half * 2; i < scores.count; i += 4) {
      f32 pair[2];
#pragma unroll
      for (int side = 0; side < 2; ++side) {
        pair[side] = power_of_two(power(scores.value[i + side], half));
        sum.value[half] += pair[side];
      }
      weights.set(i, pair[0], pair[1]);
    }
  return sum;
}

// The state of a thread's two rows. `scale` takes a score to a power of two; it is positive. Whole warps. Where it is
// `shifted`, every score of the thread's rows is meant with what shift() was told last added to it, scaled.
//
// Weights are rounded to `Element`. Those of e4m3 go from 2^-9 to 448: the base is less than the largest score by 5, so
// that 14 powers of two below it count and it may grow by 3; and it is a whole number, so that how a weight is rounded
// does not follow from the base, unless it is less than 2^-6.
template <class Element, bool shifted = false>
class Softmax {
 public:
  using Rows = RowPair;  // a number for each

  // What sums made with the weights so far are to be multiplied with.
  struct Rescale {
    bool needed = false;  // the same for the whole warp
    RowPair factor{1.f, 1.f};
  };

  Softmax() = default;
  WM_DEVICE explicit Softmax(f32 scale) : scale_(scale) {}

  // Scores become weights 2^(scale score - base), rounded for the next product, and are added to the rows' sums. The
  // base becomes the largest score so far, if that is larger by more than 8 or the row has none yet: it need not be
  // the largest, because the final division settles what it is.
  template <int columns>
  WM_DEVICE Rescale weigh(const Fragment<columns>& scores, RegisterOperand<Element, columns>& weights) {
    const Rescale rescale = move_base(thread_maximum(scores));
    const RowPair base{base_.value[0] == -infinity ? 0.f : base_.value[0],
                       base_.value[1] == -infinity ? 0.f : base_.value[1]};
    const RowPair sum = make_weights(scores, of_step(base), weights);
    sum_.value[0] += sum.value[0], sum_.value[1] += sum.value[1];
    return rescale;
  }
  // The same with the base as it is, without a look at the scores. False where the sums say that a weight may be too
  // large, or a row has no base: then nothing has happened but that the weights are lost.
  template <int columns>
  WM_DEVICE bool weigh_blindly(const Fragment<columns>& scores, RegisterOperand<Element, columns>& weights) {
    return add_blindly(make_weights(scores, of_step(base_), weights), weights);  // of -infinity: infinite ones
  }
  // The same of scores that have yet to be capped, where may_cap() is true.
  template <int columns, class Cap>
  WM_DEVICE bool weigh_blindly(const Fragment<columns>& scores, RegisterOperand<Element, columns>& weights,
                               const Cap& cap) {
    const auto power = [&](f32 score, int half) { return cap.power(score, base_.value[half]); };
    return add_blindly(powers_of_two(scores, weights, power), weights);
  }
  // Whether the cap's series is right wherever it counts: weights that are not too large are of scores it reaches, and
  // scores that are too small for it have weights of 2^-24 at most.
  template <class Cap>
  WM_DEVICE bool may_cap(const Cap& cap) const {
    const auto of_row = [&](f32 base) { return base + log2_largest <= cap.most() && base + cap.most() >= 24.f; };
    return __all_sync(0xffffffffu, of_row(base_.value[0]) && of_row(base_.value[1]));
  }

  // Whether every row of the warp has a base: a key was seen.
  WM_DEVICE bool based() const {
    return __all_sync(0xffffffffu, base_.value[0] != -infinity && base_.value[1] != -infinity);
  }

  WM_DEVICE void shift(RowPair by) { shift_ = by; }

  WM_DEVICE SoftmaxTotals totals() const { return totals_of(whole_row_sum(sum_), base_); }
  // The same with one more logit in each sum, in powers of two, which has no value.
  WM_DEVICE SoftmaxTotals totals(RowPair sinks) const { return totals_of(whole_row_sum(sum_), base_, sinks); }

 private:
  static constexpr bool narrow = sizeof(Element) == 1;
  // Of weights without a sign: 0x78 is 256, and above it are larger ones and what is no number.
  template <int columns>
  static WM_DEVICE bool below_256(const RegisterOperand<Element, columns>& weights) {
    u32 beyond = 0;
#pragma unroll
    for (const auto& step : weights.word)
#pragma unroll
      for (const u32 word : step) beyond |= word + 0x08080808;
    return (beyond & 0x80808080) == 0;
  }
  // What the scores of this step are relative to, as they are.
  WM_DEVICE RowPair of_step(RowPair base) const {
    if constexpr (shifted) return {base.value[0] - shift_.value[0], base.value[1] - shift_.value[1]};
    return base;
  }
  WM_DEVICE f32 scaled(f32 score, int row) const {
    if constexpr (shifted) return fmaf(score, scale_, shift_.value[row]);
    return score * scale_;
  }
  // Weight of a step made blindly: f16 goes up to 65504.
  static constexpr f32 log2_largest = narrow ? 8.f : 15.f;
  template <int columns>
  WM_DEVICE bool add_blindly(RowPair sum, const RegisterOperand<Element, columns>& weights) {
    constexpr f32 largest = 0x1p15f;
    if constexpr (narrow) {
      if (!__all_sync(0xffffffffu, below_256(weights))) return false;
    } else if (!__all_sync(0xffffffffu, sum.value[0] <= largest && sum.value[1] <= largest)) {
      return false;
    }
    sum_.value[0] += sum.value[0], sum_.value[1] += sum.value[1];
    return true;
  }
  template <int columns>
  WM_DEVICE RowPair make_weights(const Fragment<columns>& scores, RowPair base,
                                 RegisterOperand<Element, columns>& weights) const {
    return powers_of_two(scores, weights, [&](f32 score, int half) { return fmaf(score, scale_, -base.value[half]); });
  }
  // Other lanes are asked only where a base must move.
  WM_DEVICE Rescale move_base(RowPair of_thread) {
    Rescale rescale;
    bool stays = true;
#pragma unroll
    for (int row = 0; row < 2; ++row)
      // Where nothing was seen yet the difference may be no number, and then the base moves too.
      stays &= scaled(of_thread.value[row], row) - base_.value[row] <= (narrow ? 7.f : 8.f);
    if (__all_sync(0xffffffffu, stays)) return rescale;
    rescale.needed = true;
    if constexpr (shifted)  // which may differ between the threads of a row
      of_thread = {scaled(of_thread.value[0], 0), scaled(of_thread.value[1], 1)};
    const RowPair most = row_maximum(of_thread);
#pragma unroll
    for (int row = 0; row < 2; ++row) {
      const f32 before = base_.value[row], largest = shifted ? most.value[row] : most.value[row] * scale_;
      const f32 now = fmaxf(before, narrow ? ceilf(largest) - 5.f : largest);
      rescale.factor.value[row] = before == -infinity ? 1.f : power_of_two(before - now);
      sum_.value[row] *= rescale.factor.value[row];
      base_.value[row] = now;
    }
    return rescale;
  }

  f32 scale_;
  RowPair base_{-infinity, -infinity};  // scaled; -infinity: no key was seen
  RowPair sum_{0.f, 0.f};               // this thread's part of each row
  RowPair shift_{0.f, 0.f};
};

}  // namespace wm
