// Softcap: a score becomes cap * tanh(score / cap).
#pragma once

#include "warpmill/attention/scales.cuh"
#include "warpmill/attention/softmax.cuh"

namespace wm {

template <AttentionPlan plan>
class Softcap {
 public:
  // `keys`: of the sequence.
  WM_DEVICE Softcap(const ScalesOf<plan>& scales, u32 keys) : scales_(scales), keys_(keys) {}

  // tanh(score / cap): the softmax's scale, which follows, has the cap.
  template <class Scores>
  WM_DEVICE void cap(Scores& scores) const {
#pragma unroll
    for (f32& score : scores.value) score = tanh_approximate(score * scales_.softcap_inner);
  }

  // A capped score in powers of two, less `base`, by a series. Where the capped score is at most most() its relative
  // error is 2^-11.6, less than that of the special-function units. Beyond, on both sides, it goes on rising, so that a
  // power that is small enough says that the score was.
  WM_DEVICE f32 power(f32 score, f32 base) const {
    const SoftcapSeries& series = scales_.softcap_series;
    const f32 square = fmaf(score, score, series.middle);
    return fmaf(score * fmaf(square, square, series.rest), series.outer, -base);
  }
  WM_DEVICE f32 most() const { return scales_.softcap_series.most; }
  WM_DEVICE const LowCapLimits& limits() const { return scales_.low_cap; }

  // The same by the shorter series, where it serves (NearCap): an instruction less.
  WM_DEVICE f32 power_near(f32 score) const {
    f32 square;
    asm("mul.sat.f32 %0, %1, %1;" : "=f"(square) : "f"(score));
    return score * fmaf(square, scales_.near_cap.third, scales_.near_cap.first);
  }
  WM_DEVICE f32 most_near() const { return scales_.near_cap.most; }
  WM_DEVICE f32 least_near() const { return scales_.near_cap.least_of_key * f32(keys_); }

 private:
  const ScalesOf<plan>& scales_;
  u32 keys_;
};

}  // namespace wm
