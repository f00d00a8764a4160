// The products of one stage with wgmma.
#pragma once

#include "warpmill/gemm/block.cuh"
#include "warpmill/ptx/wgmma.cuh"

namespace wm {

// Queues the products of one stage: four steps of wgmma along k for each 64 rows.
template <GemmPlan plan>
WM_DEVICE void multiply_stage(GemmSums<plan>& sums, u32 index, u32 first_row, GemmShared<plan>& shared,
                              bool accumulate) {
  using A = Element<plan.kind.a>;
  using B = Element<plan.kind.b>;
  constexpr wgmma::Options options{.a_major = a_major<plan>, .b_major = b_major<plan>};
  auto& a_tile = shared.a[index];
  auto& b_tile = shared.b[index];
  const auto b = b_tile.operand(0);
  wgmma::fence();
#pragma unroll
  for (int block = 0; block < GemmSums<plan>::blocks; ++block) {
    const auto a = a_tile.operand(first_row + block * 64);
#pragma unroll
    for (u32 i = 0; i < 4; ++i)
      wgmma::multiply<A, B, options>(sums.block[block].value, a + i * a_tile.k_step_bytes, b + i * b_tile.k_step_bytes,
                                     accumulate || i > 0);
  }
  wgmma::commit();
}

template <int pending, GemmPlan plan>
WM_DEVICE void wait_for(GemmSums<plan>& sums) {
  wgmma::wait<pending>();
#pragma unroll
  for (auto& fragment : sums.block) wgmma::pin(fragment.value);
}

}  // namespace wm
