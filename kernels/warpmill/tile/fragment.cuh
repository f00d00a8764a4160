// What a thread of a warpgroup holds of a product of wgmma: 64 rows, some columns, in fp32.
#pragma once

#include "warpmill/pipeline/roles.cuh"
#include "warpmill/ptx/stmatrix.cuh"
#include "warpmill/types.cuh"

namespace wm {

template <int columns_>
struct Fragment {
  static constexpr int rows = 64, columns = columns_;
  f32 value[columns / 2];

  // Where value[i] of this thread lies in the product.
  static WM_DEVICE u32 row(int i) {
    const u32 thread = thread_of_warpgroup();
    return thread / 32 * 16 + thread % 32 / 4 + i / 2 % 2 * 8;
  }
  static WM_DEVICE u32 column(int i) { return i / 4 * 8 + threadIdx.x % 4 * 2 + i % 2; }
};

// Two sums as a pair of bf16, the first in the low half.
WM_DEVICE u32 pack(f32 low, f32 high) {
  u32 pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}

// The columns from `first` on into a tile of bf16, as many as it has. The whole warpgroup; ordinary stores.
template <class Tile, int columns>
WM_DEVICE void store(Tile& tile, const Fragment<columns>& fragment, int first) {
  static_assert(Tile::rows == 64 && same<typename Tile::Element, bf16> && Tile::columns % 16 == 0,
                "a fragment goes into a tile of 64 rows of bf16");
  const u32 thread = thread_of_warpgroup(), lane = thread % 32;
#pragma unroll
  for (int i = 0; i < Tile::columns / 16; ++i) {  // 16 columns: two 8x8 matrices above two more
    const f32* eight = &fragment.value[(first + i * 16) / 2];
    const u32 words[4] = {pack(eight[0], eight[1]), pack(eight[2], eight[3]), pack(eight[4], eight[5]),
                          pack(eight[6], eight[7])};
    // Lanes 0-15 give the rows of the left pair of matrices, lanes 16-31 of the right one.
    stmatrix::store(tile.chunk(thread / 32 * 16 + lane % 16, i * 2 + lane / 16), words);
  }
}

}  // namespace wm
