// Softmax of scores under a low softcap, cap * tanh(score / cap): they are bounded, so that their powers of two fit f32
// as they are, and bf16, which has its exponents. No base, no largest score, nothing that is ever multiplied again.
//
// Most steps need no tanh: the series of softcap.cuh serves, where nobody's score is beyond its reach, which the sums
// tell.
#pragma once

#include "warpmill/attention/softmax.cuh"

namespace wm {

// The state of a thread's two rows. `scale` takes a tanh to a power of two. Whole warps.
template <int columns>
class CappedSoftmax {
 public:
  using Scores = Fragment<columns>;
  using Weights = RegisterOperand<bf16, columns>;

  CappedSoftmax() = default;
  WM_DEVICE explicit CappedSoftmax(f32 scale) : scale_(scale) {}

  // By the series, where settled(). False where a score may be beyond it: then nothing has happened but that the
  // weights are lost, and the tile has done with the series.
  template <class Cap>
  WM_DEVICE bool weigh_blindly(const Scores& scores, Weights& weights, const Cap& cap) {
    const RowPair sum = weigh_by_series(scores, weights, cap);
    if (within(sum, cap)) {
      sum_ = with(sum);
      return true;
    }
    rows_ = Rows::beyond;
    return false;
  }
  // By whatever is right: the series, or else tanh. `hide()` makes scores that are not seen -infinity; tanh would make
  // numbers of them again.
  template <class Cap, class Hide>
  WM_DEVICE void weigh(Scores& scores, Weights& weights, const Cap& cap, const Hide& hide) {
    hide();
    if (rows_ != Rows::beyond) {
      const RowPair sum = weigh_by_series(scores, weights, cap);
      if (!within(sum, cap)) {
        rows_ = Rows::beyond;
      } else if (enough(with(sum), cap)) {
        sum_ = with(sum);
        rows_ = Rows::settled;
        return;
      }
    }
    cap.cap(scores);
    hide();
    sum_ = with(powers_of_two(scores, weights, [&](f32 score, int) { return score * scale_; }));
    if (rows_ != Rows::beyond && enough(sum_, cap)) rows_ = Rows::settled;
  }
  WM_DEVICE bool settled() const { return rows_ == Rows::settled; }

  WM_DEVICE SoftmaxTotals totals() const { return totals_of(whole_row_sum(sum_), {0.f, 0.f}); }
  WM_DEVICE SoftmaxTotals totals(RowPair sinks) const {
    const RowPair sum = whole_row_sum(sum_);
    return totals_of(sum, {sum.value[0] == 0.f ? -infinity : 0.f, sum.value[1] == 0.f ? -infinity : 0.f}, sinks);
  }

 private:
  // Of all rows of the warp: some have too small sums, so that scores which are too small for the series may count;
  // none has; or a score was too large for it.
  enum class Rows : u32 { fresh, settled, beyond };

  WM_DEVICE RowPair with(RowPair sum) const { return {sum_.value[0] + sum.value[0], sum_.value[1] + sum.value[1]}; }
  template <class Cap>
  static WM_DEVICE RowPair weigh_by_series(const Scores& scores, Weights& weights, const Cap& cap) {
    return powers_of_two(scores, weights, [&](f32 score, int) { return cap.power(score, 0.f); });
  }
  template <class Cap>
  static WM_DEVICE bool within(RowPair sum, const Cap& cap) {
    const f32 most = cap.limits().most;
    return __all_sync(0xffffffffu, sum.value[0] <= most && sum.value[1] <= most);
  }
  template <class Cap>
  static WM_DEVICE bool enough(RowPair sums, const Cap& cap) {
    const RowPair sum = whole_row_sum(sums);
    const f32 least = cap.limits().least;
    return __all_sync(0xffffffffu, sum.value[0] >= least && sum.value[1] >= least);
  }

  f32 scale_;
  RowPair sum_{0.f, 0.f};  // this thread's part of each row
  Rows rows_ = Rows::fresh;
};

}  // namespace wm
