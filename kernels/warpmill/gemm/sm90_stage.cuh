// The products of one stage with wgmma.
#pragma once

#include "warpmill/gemm/block.cuh"
#include "warpmill/tile/product.cuh"

namespace wm {

// Queues the products of one stage, for each 64 rows of the group.
template <GemmPlan plan>
WM_DEVICE void multiply_stage(GemmSums<plan>& sums, u32 index, u32 first_row, GemmShared<plan>& shared,
                              bool accumulate) {
  wgmma::fence();
#pragma unroll
  for (int slab = 0; slab < GemmSums<plan>::slabs; ++slab)
    multiply(sums.slab[slab], shared.a[index], first_row + slab * 64, shared.b[index], accumulate);
  wgmma::commit();
}

template <int pending, GemmPlan plan>
WM_DEVICE void wait_for(GemmSums<plan>& sums) {
  wgmma::wait<pending>();
#pragma unroll
  for (auto& fragment : sums.slab) wgmma::pin(fragment.value);
}

}  // namespace wm
