// Online softmax where a thread has whole rows of scores (sm_100a): no lane asks another. Powers of two, relative to a
// base as in softmax.cuh; some of the powers are made by the FMA units, which would otherwise wait for the
// special-function units.
#pragma once

#include "warpmill/attention/softmax.cuh"
#include "warpmill/ptx/float_pair.cuh"
#include "warpmill/tile/tensor_memory.cuh"

namespace wm {

// A polynomial; the coefficient of the highest power comes first.
template <class... Coefficients>
WM_DEVICE FloatPair polynomial(FloatPair x, f32 highest, Coefficients... others) {
  FloatPair sum(highest);
  ((sum = float_pair::fma(sum, x, FloatPair(others))), ...);
  return sum;
}

// 2^x for x up to 127, with FMA: the whole part of x goes into the exponent, the rest through a polynomial. Of the
// third degree it has a relative error of 9e-5, which no 16-bit weight shows. Weights of 8 bits are rounded so coarsely
// that a reference must round the same ones up: for them it has the fifth degree, and 1.5e-7, as the special-function
// units have. Below 2^-126 it is 0, or some smaller number.
template <class Element>
WM_DEVICE FloatPair powers_of_two_by_fma(FloatPair x) {
  const Pair<f32> each = x.values();
  x = FloatPair(fmaxf(each.x, -127.f), fmaxf(each.y, -127.f));
  // So large a number has no room for fractions: its last bits become floor(x).
  const FloatPair shifter(12582912.f);  // 1.5 2^23
  const FloatPair shifted = float_pair::add_down(x, shifter);
  const FloatPair fraction = float_pair::subtract(x, float_pair::subtract(shifted, shifter));  // 0 to 1
  FloatPair power = fraction;
  if constexpr (sizeof(Element) == 2)
    power = polynomial(fraction, 0.07711909f, 0.22756439f, 0.69514614f, 1.f);
  else
    power = polynomial(fraction, 0.00186713005f, 0.00901703071f, 0.0557999127f, 0.240164444f, 0.693151295f, 1.f);
  const Pair<f32> whole = shifted.values(), part = power.values();
  const auto scaled = [](f32 part, f32 whole) {
    return __uint_as_float(__float_as_uint(part) + (__float_as_uint(whole) << 23));
  };
  return FloatPair(scaled(part.x, whole.x), scaled(part.y, whole.y));
}

// Once all scores are weighed: 1 / sum of the row (0 where no key was seen), and its logarithm in powers of two.
struct RowTotals {
  f32 inverse, log2;
};

// The state of a thread's row; `scale` takes a score to a power of two, and is positive. Every score is meant with what
// shift() was told last added to it, scaled. Weights are rounded to `Element`, and those of e4m3 have bases as in
// softmax.cuh. Of 16 pairs of weights, `fma_pairs` are made by the FMA units.
template <class Element, int fma_pairs>
class RowSoftmax {
 public:
  struct Rows {  // a number for each
    f32 value[1];
  };
  WM_DEVICE explicit RowSoftmax(f32 scale) : scale_(scale) {}
  WM_DEVICE void shift(Rows by) { shift_ = by.value[0]; }

  // The base becomes the largest score so far (of e4m3, 5 less than that rounded up), if that is larger by more than 8
  // (7) or the row has none yet: weights of up to 2^8 (2^7) fit the type, and the final division settles what the base
  // is. What sums made with the weights so far are to be multiplied with; 1 where the base stays. A score that is no
  // number makes all of the row none.
  template <int columns>
  WM_DEVICE f32 move_base(const TensorRow<columns>& scores) {
    f32 most[4] = {scores.value[0], scores.value[1], scores.value[2], scores.value[3]};
#pragma unroll
    for (int i = 4; i + 1 < columns; i += 2)
      most[i / 2 % 4] = largest(most[i / 2 % 4], scores.value[i], scores.value[i + 1]);
    const f32 row_most = largest(largest(most[0], most[1], most[2]), most[3], most[3]);
    const f32 now = fmaf(row_most, scale_, shift_);
    if (now - base_ <= (narrow ? 7.f : 8.f)) return 1.f;
    const f32 before = base_;
    // An infinite score leaves no number of the row, whoever makes its power.
    const f32 wanted = narrow ? ceilf(now) - 5.f : now;
    base_ = now == infinity ? now - now : largest(before, wanted, wanted);
    const f32 factor = before == -infinity ? 1.f : power_of_two(before - base_);
    sum_ *= factor;
    return factor;
  }
  static constexpr int cell_weights = 4 / sizeof(Element);
  // Scores `begin` up to but not including `end` become weights 2^(scale score - base), in place, and cells of an
  // operand.
  template <int begin, int end, int columns>
  WM_DEVICE void weigh(TensorRow<columns>& scores, u32 (&cells)[(end - begin) / cell_weights]) const {
    const f32 base = (base_ == -infinity ? 0.f : base_) - shift_;
    const FloatPair scale(scale_), relative(-base);
#pragma unroll
    for (int i = begin; i < end; i += 2) {
      const FloatPair x = float_pair::fma(FloatPair(scores.value[i], scores.value[i + 1]), scale, relative);
      Pair<f32> weights = x.values();
      if (by_fma(i / 2 % 16)) {
        weights = powers_of_two_by_fma<Element>(x).values();
      } else {
        weights.x = power_of_two(weights.x);
        weights.y = power_of_two(weights.y);
      }
      scores.value[i] = weights.x;
      scores.value[i + 1] = weights.y;
      if ((i + 2) % cell_weights == 0)
        cells[(i - begin) / cell_weights] = pack_word<Element>(&scores.value[i + 2 - cell_weights]);
    }
  }
  // The weights of a step, to the row's sum. Four chains: a sum waits for the one before it.
  template <int columns>
  WM_DEVICE void add(const TensorRow<columns>& weights) {
    FloatPair sums[2] = {FloatPair(sum_, 0.f), FloatPair(0.f)};
#pragma unroll
    for (int i = 0; i < columns; i += 2)
      sums[i / 2 % 2] = float_pair::add(sums[i / 2 % 2], FloatPair(weights.value[i], weights.value[i + 1]));
    const Pair<f32> both = float_pair::add(sums[0], sums[1]).values();
    sum_ = both.x + both.y;
  }

  // `sink`: one more logit in the sum, in powers of two, which has no value; -infinity where there is none.
  WM_DEVICE RowTotals totals(f32 sink) const {
    const f32 most = fmaxf(base_, sink);
    const f32 factor = base_ == -infinity ? 0.f : base_ == most ? 1.f : power_of_two(base_ - most);
    const f32 total = sum_ * factor + (sink == -infinity ? 0.f : power_of_two(sink - most));
    if (total == 0.f) return {0.f, -infinity};
    return {factor / total, __log2f(total) + most};
  }

 private:
  static constexpr bool narrow = sizeof(Element) == 1;
  // Spread evenly over the 16.
  static constexpr bool by_fma(int pair) { return (pair + 1) * fma_pairs / 16 != pair * fma_pairs / 16; }

  f32 scale_;
  f32 base_ = -infinity;  // scaled; -infinity: no key was seen
  f32 sum_ = 0.f, shift_ = 0.f;
};

}  // namespace wm
