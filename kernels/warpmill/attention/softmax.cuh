// Online softmax, in powers of two: each block of scores becomes weights relative to the largest score so far.
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

// 2^x by the FMA units, for x up to 127: x = n + f with n whole, a cubic in f, and n added to the exponent. Relative
// error 9e-5, which rounding to bf16 or f16 hides. What is below -127 becomes 2^-127, not zero.
WM_DEVICE f32 power_of_two_by_fma(f32 x) {
  constexpr f32 shifter = 12582912.f;  // 1.5 * 2^23: a sum with it has its whole part in the low bits
  x = fmaxf(x, -127.f);
  f32 shifted;
  asm("add.rm.ftz.f32 %0, %1, %2;" : "=f"(shifted) : "f"(x), "f"(shifter));
  const f32 f = x - (shifted - shifter);
  const f32 power = fmaf(f, fmaf(f, fmaf(f, 0.07711909f, 0.22756439f), 0.69514614f), 1.f);
  return __uint_as_float(__float_as_uint(power) + (__float_as_uint(shifted) << 23));
}

WM_DEVICE f32 tanh_approximate(f32 x) {
  f32 y;
  asm("tanh.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// The state of a thread's two rows. `scale` takes a score to a power of two; it is not negative.
class Softmax {
 public:
  // What the sums made with weights so far are to be multiplied with.
  struct Rescale {
    bool needed;  // the same for the whole warp
    RowPair factor;
  };

  WM_DEVICE explicit Softmax(f32 scale) : scale_(scale) {}

  // Scores become weights 2^(scale (score - base)), and are added to the rows' sums. The base is the largest score, or
  // an earlier one that is less than 2^8 times smaller in weight: the final division settles that, and sums need to be
  // multiplied only when the base moves. `fma_of_8` of each eight powers are made by FMA.
  template <int fma_of_8, int columns>
  WM_DEVICE Rescale weigh(Fragment<columns>& scores) {
    const RowPair most = row_maximum(scores, base_);
    Rescale rescale{false, {1.f, 1.f}};
    // Not `> 8`: where nothing was seen yet the difference may be no number, and then the base moves too.
    const bool stays = (most.value[0] - base_.value[0]) * scale_ <= 8.f && (most.value[1] - base_.value[1]) * scale_ <= 8.f;
    if (__any_sync(0xffffffffu, !stays)) {
      rescale.needed = true;
#pragma unroll
      for (int row = 0; row < 2; ++row) {
        const f32 before = base_.value[row];
        rescale.factor.value[row] = before == -infinity ? 1.f : power_of_two((before - most.value[row]) * scale_);
        sum_.value[row] *= rescale.factor.value[row];
      }
      base_ = most;
    }
    f32 offset[2];
#pragma unroll
    for (int row = 0; row < 2; ++row) offset[row] = base_.value[row] == -infinity ? 0.f : base_.value[row] * scale_;
#pragma unroll
    for (int i = 0; i < scores.count; ++i) {
      const f32 x = fmaf(scores.value[i], scale_, -offset[scores.half(i)]);
      scores.value[i] = i % 8 < fma_of_8 ? power_of_two_by_fma(x) : power_of_two(x);
    }
    sum_ = partial_row_sum(scores, sum_);
    return rescale;
  }

  // Once all scores are weighed: 1 / sum of each row (0 where no key was seen), and its logarithm in powers of two.
  struct Totals {
    RowPair inverse, log2;
  };
  WM_DEVICE Totals totals() const {
    const RowPair sum = whole_row_sum(sum_);
    Totals totals;
#pragma unroll
    for (int row = 0; row < 2; ++row) {
      const bool none = sum.value[row] == 0.f;
      totals.inverse.value[row] = none ? 0.f : 1.f / sum.value[row];
      totals.log2.value[row] = none ? -infinity : __log2f(sum.value[row]) + base_.value[row] * scale_;
    }
    return totals;
  }

 private:
  f32 scale_;
  RowPair base_{-infinity, -infinity};
  RowPair sum_{0.f, 0.f};  // this thread's part of each row
};

}  // namespace wm
