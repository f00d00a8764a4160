// ALiBi: a score loses the slope of its head for each position between the key and the one opposite the query.
#pragma once

#include "warpmill/attention/scales.cuh"
#include "warpmill/attention/softmax.cuh"
#include "warpmill/attention/tiles.cuh"
#include "warpmill/ptx/wgmma.cuh"
#include "warpmill/tile/element.cuh"

namespace wm {

// A bias that is a line along the keys of a step is a product of two thin operands: the slope, the same for all rows,
// and the number of each key in its step. An operand has 16 elements along k; here the second eight are the first once
// more, so it takes 16 bytes a key, and the slope only 8 rows of 16 bytes, which are all rows at once.

// All eight elements of a key are its number, in bf16.
template <int keys>
struct alignas(128) KeyNumbers {
  static_assert(keys <= 256, "whole numbers that bf16 has");
  Quad<u32> key[keys];

  // By the threads of a block; they meet before anybody multiplies.
  WM_DEVICE void fill() {
    for (u32 i = threadIdx.x; i < keys; i += blockDim.x) {
      const u32 pair = pack<bf16>(f32(i), f32(i));
      key[i] = {pair, pair, pair, pair};
    }
    fence::proxy_async_shared();
  }
  WM_DEVICE wgmma::Descriptor operand() {
    return wgmma::descriptor(SharedAddress(key), 0, 8 * sizeof(key[0]), wgmma::Swizzle::none);
  }
};

// On which side of a group's queries the keys of a step lie.
enum class KeySide : u32 { before, behind, around };

// Of a group's head, for each side: the slope, the other way, or nothing. Three numbers of 8 bits add up to half of it.
template <int sides>
struct alignas(128) SlopeOperand {
  Quad<u32> row[sides][8];
  f32 slope;

  // Read again for each step: it would take a register all along.
  WM_DEVICE f32 read_slope() const { return *const_cast<const volatile f32*>(&slope); }
  // By the threads of a group, which meet before, when all have done with the one before, and behind it.
  WM_DEVICE void fill(f32 of_head) {
    const u32 thread = thread_of_warpgroup();
    if (thread == 0) slope = of_head;
    if (thread < sides * 8) {
      const auto top = [](f32 x) { return __uint_as_float(__float_as_uint(x) & 0xffff0000u); };
      const KeySide side = KeySide(thread / 8);
      const f32 half = side == KeySide::before ? 0.5f * of_head : side == KeySide::behind ? -0.5f * of_head : 0.f;
      const f32 first = top(half), second = top(half - first);
      row[thread / 8][thread % 8] = {pack<bf16>(first, second), pack<bf16>(half - first - second, 0.f), 0, 0};
    }
    fence::proxy_async_shared();
  }
  WM_DEVICE wgmma::Descriptor operand(KeySide side) {
    return wgmma::descriptor(SharedAddress(row), 0, 0, wgmma::Swizzle::none) + u32(side) * sizeof(row[0]);
  }
};

// Of one head and the queries of a group.
template <AttentionPlan plan>
class AlibiBias {
 public:
  AlibiBias() = default;
  WM_DEVICE AlibiBias(const AttentionArguments& args, const ScalesOf<plan>& scales, const Tile<plan>& tile,
                      u32 first_query)
      : slope_(reinterpret_cast<const f32*>(args.slopes)[tile.head] * scales.alibi_unit),
        scale_(scales.scale_log2),
        diagonal_(Sight<plan>::diagonal(args, tile.sequence, first_query)) {
    asm volatile("" : "+f"(slope_));  // read once, here
  }

  // Where it is no use to weigh a step without a look. From the last keys to the diagonal every step's scores are
  // larger than those of the one before, and weights would mostly be made twice; and by product the look adds what is
  // no line.
  WM_DEVICE bool must_look(i32 step) const {
    if constexpr (plan.kind.alibi != Alibi::both_sides) return false;
    return plan.begins_at_diagonal() ? by_product && around(step) : side(step) != KeySide::before;
  }

  // Whether a step has keys on both sides of the queries: no line, but a roof.
  WM_DEVICE bool around(i32 step) const { return side(step) == KeySide::around; }

  // Queues, behind the product that makes the scores of a step, one that adds the line along its keys: a score takes no
  // instruction of its own then.
  template <class Slope>
  WM_DEVICE void multiply(Fragment<plan.keys>& scores, Slope& slope, KeyNumbers<plan.keys>& numbers, i32 step) const {
    wgmma::multiply<bf16>(scores.value, slope.operand(side(step)), numbers.operand(), true);
  }
  WM_DEVICE f32 slope() const { return slope_; }

  // Where all keys of a step lie on one side of the queries, the bias is one line for each row: what is the same for
  // all keys of it goes into the softmax as a shift, which is known before the scores are.
  template <class Scores, class Softmax>
  WM_DEVICE void shift(i32 step, Softmax& softmax, f32 head_slope) const {
    const KeySide side = this->side(step);
    const f32 slope = side == KeySide::before ? head_slope : side == KeySide::behind ? -head_slope : 0.f;
    typename Softmax::Rows shift;
#pragma unroll
    for (int half = 0; half < Scores::halves; ++half)
      shift.value[half] =
          slope * scale_ * f32(distance<Scores>(step, half) + (by_product ? 0 : first_column<Scores>()));
    softmax.shift(shift);
  }
  // To the scores themselves: one instruction for each, or none; where keys lie on both sides two.
  template <class Scores>
  WM_DEVICE void add(Scores& scores, i32 step, f32 head_slope) const {
    const KeySide side = this->side(step);
    if (side == KeySide::around) {
      f32 first[Scores::halves];
#pragma unroll
      for (int half = 0; half < Scores::halves; ++half)
        first[half] = f32(distance<Scores>(step, half) + first_column<Scores>());
#pragma unroll
      for (int i = 0; i < scores.count; ++i)
        scores.value[i] = fmaf(-head_slope, fabsf(f32(scores.offset(i)) + first[scores.half(i)]), scores.value[i]);
    } else if constexpr (!by_product) {
      const f32 slope = side == KeySide::before ? head_slope : -head_slope;
#pragma unroll
      for (int i = 0; i < scores.count; ++i) scores.value[i] = fmaf(slope, f32(scores.offset(i)), scores.value[i]);
    }
  }
  // Both, of a slope that is kept here. `Scores` are what a thread has of the step: a Fragment, or a whole row.
  template <class Scores, class Softmax>
  WM_DEVICE void apply(Scores& scores, i32 step, Softmax& softmax) const {
    shift<Scores>(step, softmax, slope_);
    add(scores, step, slope_);
  }

 private:
  static constexpr bool by_product = plan.bias_by_product();
  // From the key opposite one of the thread's rows to the step's first.
  template <class Scores>
  WM_DEVICE i32 distance(i32 step, int half) const {
    return step * plan.keys - diagonal_ - i32(Scores::row_of_half(half));
  }
  template <class Scores>
  static WM_DEVICE i32 first_column() {
    return i32(Scores::column(0));
  }
  WM_DEVICE KeySide side(i32 step) const {
    if (plan.kind.alibi == Alibi::before || (step + 1) * plan.keys - 1 <= diagonal_) return KeySide::before;
    return step * plan.keys >= diagonal_ + plan.group_rows() - 1 ? KeySide::behind : KeySide::around;
  }

  f32 slope_;  // in scores that are not scaled yet
  f32 scale_;
  i32 diagonal_;  // the key opposite the first query
};

}  // namespace wm
