// The products of one stage with block scales and mma.sync: operands as in mma_stage.cuh, and each lane's scales as
// words from their blocks in shared memory.
#pragma once

#include "warpmill/gemm/block.cuh"
#include "warpmill/ptx/mma_scaled.cuh"
#include "warpmill/tile/mma_operand.cuh"

namespace wm {

// sums += a b, for 16 rows, 8 columns and 32 bytes of k: the stage's product number `step`.
template <GemmPlan plan, int step>
WM_DEVICE void multiply_add_scaled(f32 (&sums)[4], const u32 (&a)[4], const u32 (&b)[2], u32 a_scales, u32 b_scales) {
  constexpr int byte = plan.scaled_product(step).a_byte;
  if constexpr (plan.kind.a_format == BlockFormat::nvfp4)
    mma::m16n8k64_nvf4(sums, a, b, a_scales, b_scales);
  else if constexpr (plan.kind.packed())
    mma::m16n8k64_mxf4<byte>(sums, a, b, a_scales, b_scales);
  else
    mma::m16n8k32_scaled<Select<plan.kind.a_format == BlockFormat::mxfp8_e4m3, e4m3, e5m2>,
                         Select<plan.kind.b_format == BlockFormat::mxfp8_e4m3, e4m3, e5m2>, byte>(sums, a, b, a_scales,
                                                                                                  b_scales);
}

// Four groups' scales of a row: `row` from the first of the blocks on, block `block` of the stage along k.
template <GemmPlan plan>
WM_DEVICE u32 scale_word(const u8* scales, u32 row, u32 block) {
  const u32 number = row / scale_block_rows * plan.kind.scale_blocks() + block;
  return *reinterpret_cast<const u32*>(scales + number * scale_block_bytes + scale_place(row % scale_block_rows, 0));
}

// By each warp for its rows. `tile` is the tile's corner: where it lies inside a block of scales, theirs begin there.
template <GemmPlan plan>
WM_DEVICE void multiply_scaled_stage(GemmSums<plan>& sums, u32 index, u32 first_row, Corner tile,
                                     GemmShared<plan>& shared) {
  constexpr int slabs = GemmSums<plan>::slabs, along_k = plan.kind.scale_blocks(), steps = 4 / along_k;
  const auto& scales = shared.scales.stage[index];
  const u32 lane = threadIdx.x % 32;
  first_row += warp_of_warpgroup() * 16;
  const u32 a_row = tile.m % scale_block_rows + first_row + lane / 4 + lane % 2 * 8;
  const u32 b_row = tile.n % scale_block_rows + lane / 4;
  const auto of_block = [&]<int block>() {
    u32 a_scales[slabs], b_scales[plan.tile.n / 8];
#pragma unroll
    for (int slab = 0; slab < slabs; ++slab) a_scales[slab] = scale_word<plan>(scales.a, a_row + slab * 64, block);
#pragma unroll
    for (int i = 0; i < plan.tile.n / 8; ++i) b_scales[i] = scale_word<plan>(scales.b, b_row + i * 8, block);
    const auto product = [&]<int step>() {
      u32 a[slabs][4];
#pragma unroll
      for (int slab = 0; slab < slabs; ++slab) load_a(a[slab], shared.a[index], first_row + slab * 64, step);
#pragma unroll
      for (int column = 0; column < plan.tile.n; column += 16) {
        u32 b[2][2];
        load_b(b, shared.b[index], column, step);
#pragma unroll
        for (int slab = 0; slab < slabs; ++slab)
#pragma unroll
          for (int half = 0; half < 2; ++half) {
            auto& four = sums.slab[slab].value[column / 2 + half * 4];  // of this thread, in eight columns
            multiply_add_scaled<plan, step>(reinterpret_cast<f32(&)[4]>(four), a[slab], b[half], a_scales[slab],
                                            b_scales[column / 8 + half]);
          }
      }
    };
    product.template operator()<block * steps>();
    if constexpr (steps > 1) product.template operator()<block * steps + 1>();
    if constexpr (steps > 2) {
      product.template operator()<block * steps + 2>();
      product.template operator()<block * steps + 3>();
    }
  };
  of_block.template operator()<0>();
  if constexpr (along_k > 1) of_block.template operator()<1>();
  if constexpr (along_k > 2) {
    of_block.template operator()<2>();
    of_block.template operator()<3>();
  }
}

}  // namespace wm
