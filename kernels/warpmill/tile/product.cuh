// Products of tiles with wgmma: queued, not awaited. What surrounds them is the caller's: wgmma::fence before the
// first, wgmma::commit after the last, a wait before the sums are touched or a tile is written again.
#pragma once

#include "warpmill/ptx/wgmma.cuh"
#include "warpmill/tile/fragment.cuh"
#include "warpmill/tile/operand_tile.cuh"

namespace wm {

// sums (+)= A B: 64 rows of `a` from `row` on, as many columns of `b` as there are sums of, from `column` on, all of k.
// Without `accumulate` the old sums are ignored.
template <int columns, class T, class ATile, class BTile>
WM_DEVICE void multiply_part(Fragment<columns, T>& sums, ATile& a, u32 row, BTile& b, u32 column, bool accumulate) {
  static_assert(ATile::k == BTile::k, "both operands have the same k");
  static_assert(columns == BTile::extent || (columns < BTile::extent && BTile::major == Major::k),
                "a part is of columns that there are, and of an operand along k");
  constexpr wgmma::Options options{.a_major = ATile::major, .b_major = BTile::major};
#pragma unroll
  for (u32 step = 0; step < ATile::steps; ++step)
    wgmma::multiply<typename ATile::Element, typename BTile::Element, options>(
        sums.value, a.operand(row, step), b.operand(column, step), accumulate || step > 0);
}

// The same of all columns of `b`.
template <class T, class ATile, class BTile>
WM_DEVICE void multiply(Fragment<BTile::extent, T>& sums, ATile& a, u32 row, BTile& b, bool accumulate) {
  multiply_part(sums, a, row, b, 0, accumulate);
}

// The same with A in registers.
template <class T, class Element, int k, class BTile>
WM_DEVICE void multiply(Fragment<BTile::extent, T>& sums, const RegisterOperand<Element, k>& a, BTile& b,
                        bool accumulate) {
  static_assert(k == BTile::k, "both operands have the same k");
  constexpr wgmma::Options options{.b_major = BTile::major};
#pragma unroll
  for (u32 step = 0; step < BTile::steps; ++step)
    wgmma::multiply<Element, typename BTile::Element, options>(sums.value, a.word[step], b.operand(0, step),
                                                               accumulate || step > 0);
}

}  // namespace wm
