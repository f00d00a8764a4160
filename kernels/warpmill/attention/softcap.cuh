// Softcap: a score becomes cap * tanh(score / cap).
#pragma once

#include "warpmill/attention/scales.cuh"
#include "warpmill/attention/softmax.cuh"

namespace wm {

template <AttentionPlan plan>
class Softcap {
 public:
  // Whether a series caps where no mask is, or the special-function units, which take one instruction less for each
  // score but are busy with exponentials, the more the shorter a score's products take.
  static constexpr bool by_series = (plan.kind.head_dim + plan.kind.value_dim) * plan.element_bytes() <= 768;

  WM_DEVICE explicit Softcap(const ScalesOf<plan>& scales) : scales_(scales) {}

  // tanh(score / cap): the softmax's scale, which follows, has the cap.
  template <class Scores>
  WM_DEVICE void cap(Scores& scores) const {
#pragma unroll
    for (f32& score : scores.value) score = tanh_approximate(score * scales_.softcap_inner);
  }

  // What takes a score to the power of two of its capped one, by a series of odd powers up to the fifth. Where the
  // capped score is at most most() its relative error is 2^-11.7, less than that of the special-function units. Beyond,
  // on both sides, it goes on rising, so that a power that is small enough says that the score was.
  WM_DEVICE f32 factor(f32 score) const {
    const f32 square = score * score;
    return fmaf(fmaf(scales_.softcap_series[2], square, scales_.softcap_series[1]), square, scales_.softcap_series[0]);
  }
  WM_DEVICE f32 most() const { return scales_.softcap_most; }  // in powers of two

 private:
  const ScalesOf<plan>& scales_;
};

}  // namespace wm
