// Softmax of scores under a low softcap, cap * tanh(score / cap): they are bounded, so that their powers of two fit f32
// as they are, and bf16, which has its exponents. No base, no largest score, nothing that is ever multiplied again.
//
// Most steps need no tanh: a series of the fifth power serves, where nobody's score is beyond its reach, which the sums
// tell. Multiplying queries beforehand leaves it three instructions: no factor is left over. That rounds their elements
// once more, by half a unit in the last place, as the caller did when he made bf16 of them.
#pragma once

#include "warpmill/attention/arguments.h"
#include "warpmill/attention/softmax.cuh"
#include "warpmill/pipeline/roles.cuh"
#include "warpmill/ptx/barrier.cuh"
#include "warpmill/ptx/fence.cuh"

namespace wm {

// A group's queries in shared memory times `factor`, rounded again, for the products that follow. All of the group,
// which meets at `barrier`.
template <class QTile>
WM_DEVICE void scale_queries(QTile& q, f32 factor, u32 barrier) {
  static_assert(same<typename QTile::Element, bf16>, "bf16 has the exponents for any factor");
  auto* const chunks = reinterpret_cast<Quad<u32>*>(&q);
  const auto scaled = [&](u32 pair) {
    return pack<bf16>(__uint_as_float(pair << 16) * factor, __uint_as_float(pair & 0xffff0000u) * factor);
  };
#pragma unroll 4
  for (u32 i = thread_of_warpgroup(); i < sizeof(QTile) / sizeof(*chunks); i += warpgroup_threads) {
    const Quad<u32> chunk = chunks[i];
    chunks[i] = {scaled(chunk.x), scaled(chunk.y), scaled(chunk.z), scaled(chunk.w)};
  }
  fence::proxy_async_shared();
  barrier::sync(barrier, warpgroup_threads);
}

// The state of a thread's two rows, of queries that scale_queries has scaled. Whole warps.
template <int columns>
class CappedSoftmax {
 public:
  using Scores = Fragment<columns>;
  using Weights = RegisterOperand<bf16, columns>;

  CappedSoftmax() = default;
  WM_DEVICE explicit CappedSoftmax(const AttentionArguments& args) : args_(&args) {}

  // By the series, where settled(). False where a score may be beyond it: then nothing has happened but that the
  // weights are lost, and the tile has done with the series.
  WM_DEVICE bool weigh_blindly(const Scores& scores, Weights& weights) {
    const RowPair sum = weigh_by_series(scores, weights);
    if (within_series(sum)) {
      sum_ = with(sum);
      return true;
    }
    rows_ = Rows::beyond;
    return false;
  }
  // By whatever is right: the series, or else tanh. `hide()` makes scores that are not seen -infinity; tanh would make
  // numbers of them again.
  template <class Hide>
  WM_DEVICE void weigh(Scores& scores, Weights& weights, const Hide& hide) {
    hide();
    if (rows_ != Rows::beyond) {
      const RowPair sum = weigh_by_series(scores, weights);
      if (!within_series(sum)) {
        rows_ = Rows::beyond;
      } else if (enough(with(sum))) {
        sum_ = with(sum);
        rows_ = Rows::settled;
        return;
      }
    }
#pragma unroll
    for (f32& score : scores.value) score = tanh_approximate(score * args_->softcap_inner);
    hide();
    sum_ = with(powers_of_two(scores, weights, [&](f32 score, int) { return score * args_->scale_log2; }));
    if (rows_ != Rows::beyond && enough(sum_)) rows_ = Rows::settled;
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
  WM_DEVICE RowPair weigh_by_series(const Scores& scores, Weights& weights) const {
    const LowCapSeries& series = args_->low_cap_series;
    return powers_of_two(scores, weights, [&](f32 score, int) {
      const f32 square = fmaf(score, score, series.middle);
      return score * fmaf(square, square, series.rest);
    });
  }
  WM_DEVICE bool within_series(RowPair sum) const {
    const f32 most = args_->low_cap_series.most;
    return __all_sync(0xffffffffu, sum.value[0] <= most && sum.value[1] <= most);
  }
  WM_DEVICE bool enough(RowPair sums) const {
    const RowPair sum = whole_row_sum(sums);
    const f32 least = args_->low_cap_series.least;
    return __all_sync(0xffffffffu, sum.value[0] >= least && sum.value[1] >= least);
  }

  const AttentionArguments* args_;
  RowPair sum_{0.f, 0.f};  // this thread's part of each row
  Rows rows_ = Rows::fresh;
};

}  // namespace wm
