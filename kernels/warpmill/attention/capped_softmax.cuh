// Softmax of scores under a low softcap, cap * tanh(score / cap): they are bounded, so that their powers of two fit f32
// as they are, and bf16, which has its exponents. No base, no largest score, nothing that is ever multiplied again.
//
// Most steps need no tanh: a series of softcap.cuh serves, where nobody's score is beyond its reach, which the sums
// tell. There are two, a short one for scores near 0 and a longer one for most others.
#pragma once

#include "warpmill/attention/softmax.cuh"
#include "warpmill/pipeline/roles.cuh"
#include "warpmill/ptx/barrier.cuh"
#include "warpmill/ptx/fence.cuh"

namespace wm {

// A group's queries in shared memory times `factor`, a power of two, for the products that follow: only what bf16 holds
// no smaller is rounded. All of the group, which meets at `barrier`.
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

// The state of a thread's two rows. `scale` takes a tanh to a power of two. Whole warps.
template <int columns>
class CappedSoftmax {
 public:
  using Scores = Fragment<columns>;
  using Weights = RegisterOperand<bf16, columns>;

  CappedSoftmax() = default;
  WM_DEVICE explicit CappedSoftmax(f32 scale) : scale_(scale) {}

  // By a series, where settled(). False where a score may be beyond it: then nothing has happened but that the weights
  // are lost, and the tile has done with that series.
  template <class Cap>
  WM_DEVICE bool weigh_blindly(const Scores& scores, Weights& weights, const Cap& cap) {
    if (rows_ == Rows::near) {
      const RowPair sum = powers_of_two(scores, weights, [&](f32 score, int) { return cap.power_near(score); });
      if (within(sum, cap.most_near())) {
        sum_ = with(sum);
        return true;
      }
      rows_ = Rows::far;
      return false;
    }
    const RowPair sum = weigh_by_series(scores, weights, cap);
    if (within(sum, cap.limits().most)) {
      sum_ = with(sum);
      return true;
    }
    rows_ = Rows::beyond;
    return false;
  }
  // By whatever is right: the longer series, or else tanh. `hide()` makes scores that are not seen -infinity; tanh
  // would make numbers of them again.
  template <class Cap, class Hide>
  WM_DEVICE void weigh(Scores& scores, Weights& weights, const Cap& cap, const Hide& hide) {
    hide();
    if (rows_ != Rows::beyond) {
      const RowPair sum = weigh_by_series(scores, weights, cap);
      if (!within(sum, cap.limits().most))
        rows_ = Rows::beyond;
      else if (settle(sum, cap))
        return;
    }
    cap.cap(scores);
    hide();
    const RowPair sum = powers_of_two(scores, weights, [&](f32 score, int) { return score * scale_; });
    if (rows_ == Rows::beyond || !settle(sum, cap)) sum_ = with(sum);
  }
  WM_DEVICE bool settled() const { return rows_ == Rows::near || rows_ == Rows::far; }

  WM_DEVICE SoftmaxTotals totals() const { return totals_of(whole_row_sum(sum_), {0.f, 0.f}); }
  WM_DEVICE SoftmaxTotals totals(RowPair sinks) const {
    const RowPair sum = whole_row_sum(sum_);
    return totals_of(sum, {sum.value[0] == 0.f ? -infinity : 0.f, sum.value[1] == 0.f ? -infinity : 0.f}, sinks);
  }

 private:
  // Of all rows of the warp.
  enum class Rows : u32 {
    fresh,  // some have so small sums that scores which are too small for a series would count
    near,   // none has for the short series, and no score was too large for it
    far,    // the same of the longer one
    beyond  // a score was too large for that too
  };

  WM_DEVICE RowPair with(RowPair sum) const { return {sum_.value[0] + sum.value[0], sum_.value[1] + sum.value[1]}; }
  template <class Cap>
  static WM_DEVICE RowPair weigh_by_series(const Scores& scores, Weights& weights, const Cap& cap) {
    return powers_of_two(scores, weights, [&](f32 score, int) { return cap.power(score, 0.f); });
  }
  static WM_DEVICE bool within(RowPair sum, f32 most) {
    return __all_sync(0xffffffffu, sum.value[0] <= most && sum.value[1] <= most);
  }
  // A step's sum, where with it the rows have enough for a series.
  template <class Cap>
  WM_DEVICE bool settle(RowPair of_step, const Cap& cap) {
    const RowPair sum = whole_row_sum(with(of_step));
    const auto enough = [&](f32 least) {
      return __all_sync(0xffffffffu, sum.value[0] >= least && sum.value[1] >= least);
    };
    if (!enough(cap.limits().least)) return false;
    sum_ = with(of_step);
    const bool near = rows_ <= Rows::near && within(of_step, cap.most_near()) && enough(cap.least_near());
    rows_ = near ? Rows::near : Rows::far;
    return true;
  }

  f32 scale_;
  RowPair sum_{0.f, 0.f};  // this thread's part of each row
  Rows rows_ = Rows::fresh;
};

}  // namespace wm
