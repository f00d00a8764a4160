// What a thread of a warpgroup holds of a product: 64 rows, some columns, in fp32 or i32. wgmma leaves it so, and so do
// four warps with 16 rows each that multiply with mma.sync, or that load them from tensor memory.
#pragma once

#include "warpmill/pipeline/roles.cuh"
#include "warpmill/ptx/stmatrix.cuh"
#include "warpmill/tile/element.cuh"
#include "warpmill/types.cuh"

namespace wm {

// Each warp has 16 rows; `warp_rows` are from one warp's first to the next one's.
template <int columns_, class T = f32, int warp_rows_ = 16>
struct Fragment {
  static constexpr int rows = 64, columns = columns_, count = columns / 2, warp_rows = warp_rows_;
  T value[count];

  // Where value[i] of this thread lies in the product.
  static WM_DEVICE u32 row(int i) {
    const u32 thread = thread_of_warpgroup();
    return thread / 32 * warp_rows + thread % 32 / 4 + i / 2 % 2 * 8;
  }
  static WM_DEVICE u32 column(int i) { return i / 4 * 8 + threadIdx.x % 4 * 2 + i % 2; }
  // The same column, from the thread's first on.
  static constexpr int offset(int i) { return i / 4 * 8 + i % 2; }
  // Which of the thread's two rows: 0, or eight rows below it 1.
  static constexpr int halves = 2;
  static constexpr int half(int i) { return i / 2 % 2; }
  static WM_DEVICE u32 row_of_half(int half) { return row(half * 2); }

  WM_DEVICE void clear() {
#pragma unroll
    for (int i = 0; i < count; ++i) value[i] = 0;
  }
  // `slice_columns` columns from `first` on, a multiple of 8.
  template <int slice_columns>
  WM_DEVICE Fragment<slice_columns, T, warp_rows> slice(int first) const {
    Fragment<slice_columns, T, warp_rows> part;
#pragma unroll
    for (int i = 0; i < part.count; ++i) part.value[i] = value[first / 2 + i];
    return part;
  }
};

// One value for each of the two rows that a thread has a part of: a maximum, a sum, a factor.
struct RowPair {
  f32 value[2];
};

namespace detail {
// Four neighbouring lanes have a row among them.
template <class Combine>
WM_DEVICE RowPair across_row(RowPair rows, Combine combine) {
#pragma unroll
  for (f32& value : rows.value) {
    value = combine(value, __shfl_xor_sync(0xffffffffu, value, 1));
    value = combine(value, __shfl_xor_sync(0xffffffffu, value, 2));
  }
  return rows;
}
}  // namespace detail

// The largest of what this thread has of each row. Four chains: a maximum waits for the one before it.
template <int columns>
WM_DEVICE RowPair thread_maximum(const Fragment<columns>& fragment) {
  f32 most[2][2];
#pragma unroll
  for (int half = 0; half < 2; ++half)
#pragma unroll
    for (int side = 0; side < 2; ++side) {
      most[half][side] = fragment.value[half * 2 + side];
#pragma unroll
      for (int i = 4 + half * 2 + side; i < fragment.count; i += 4)
        most[half][side] = fmaxf(most[half][side], fragment.value[i]);
    }
  return {fmaxf(most[0][0], most[0][1]), fmaxf(most[1][0], most[1][1])};
}
// The largest of each row, and the sum, from the parts of its four lanes; each gets it. Whole warps.
WM_DEVICE RowPair row_maximum(RowPair of_thread) {
  return detail::across_row(of_thread, [](f32 a, f32 b) { return fmaxf(a, b); });
}
WM_DEVICE RowPair whole_row_sum(RowPair of_thread) {
  return detail::across_row(of_thread, [](f32 a, f32 b) { return a + b; });
}

// Sums as the A operand of the next product: 64 rows by `k`, rounded to `Element` (bf16 or f16, or 8 bits), in the
// registers where they already are. Word i of a step is what mma's A fragment has in it. Of 8 bits a word has four
// neighbours along k, and a thread has pairs eight columns apart: k goes through each 16 columns in the order 0, 1, 8,
// 9, 2, 3, 10, 11 and so on, and the other operand of the product has to have it so too.
template <class Element, int k>
struct RegisterOperand {
  static constexpr int steps = k * int(sizeof(Element)) / 32;
  u32 word[steps][4];

  WM_DEVICE void clear() {
#pragma unroll
    for (auto& step : word)
#pragma unroll
      for (u32& pair : step) pair = 0;
  }
  // Values i and i + 1 of a Fragment<k>; of 8 bits i - 4 goes before i.
  WM_DEVICE void set(int i, f32 low, f32 high) {
    if constexpr (sizeof(Element) == 2) {
      word[i / 8][i / 2 % 4] = pack<Element>(low, high);
    } else {
      u32& four = word[i / 16][i / 8 % 2 * 2 + i / 2 % 2];
      const u16 pair = pack<Element>(low, high);
      if (i / 4 % 2 == 0)
        four = pair;
      else
        asm("mov.b32 %0, {%1, %2};" : "=r"(four) : "h"(u16(four)), "h"(pair));
    }
  }
};

// A fragment into a tile with a row for each of its rows, from `first_row` of the tile on. The whole warpgroup;
// ordinary stores.
template <class Tile, int columns, class T, int warp_rows>
WM_DEVICE void store_rows(Tile& tile, const Fragment<columns, T, warp_rows>& fragment, u32 first_row = 0) {
  using Element = typename Tile::Element;
  static_assert(Tile::rows == 4 * warp_rows && columns <= Tile::columns,
                "the tile has the rows of four warps, and the fragment's columns");
  const u32 thread = thread_of_warpgroup(), lane = thread % 32;
  if constexpr (sizeof(Element) == 2 && stmatrix::available) {
    const u32 row = thread / 32 * warp_rows + first_row + lane % 16;
#pragma unroll
    for (int i = 0; i < columns / 16; ++i) {  // 16 columns: two 8x8 matrices above two more
      const f32* eight = &fragment.value[i * 8];
      const u32 words[4] = {pack<Element>(eight[0], eight[1]), pack<Element>(eight[2], eight[3]),
                            pack<Element>(eight[4], eight[5]), pack<Element>(eight[6], eight[7])};
      // Lanes 0-15 give the rows of the left pair of matrices, lanes 16-31 of the right one.
      stmatrix::store(tile.chunk(row, i * 2 + lane / 16), words);
    }
    if constexpr (columns % 16 != 0) {  // the last 8: lanes 0-15 give the rows
      const f32* four = &fragment.value[columns / 16 * 8];
      const u32 words[2] = {pack<Element>(four[0], four[1]), pack<Element>(four[2], four[3])};
      stmatrix::store(tile.chunk(row, columns / 8 - 1), words);
    }
  } else {
#pragma unroll
    for (int i = 0; i < fragment.count; i += 2) {  // two columns of one row
      auto& place = tile.at(first_row + fragment.row(i), fragment.column(i));
      if constexpr (sizeof(Element) == 4)
        reinterpret_cast<Pair<T>&>(place) = {fragment.value[i], fragment.value[i + 1]};
      else
        reinterpret_cast<Select<sizeof(Element) == 2, u32, u16>&>(place) =
            pack<Element>(fragment.value[i], fragment.value[i + 1]);
    }
  }
}

// The same into a tile with a row for each column: 16-bit elements. Where the warps have more than 64 rows among them,
// the columns of the next 64 follow.
template <class Tile, int columns, int warp_rows>
WM_DEVICE void store_columns(Tile& tile, const Fragment<columns, f32, warp_rows>& fragment, u32 first_row = 0) {
  using Element = typename Tile::Element;
  constexpr u32 part_columns = Tile::rows / (warp_rows / 16);  // the tile's rows for 64 rows of the fragment
  static_assert(Tile::columns == 64 && sizeof(Element) == 2 && columns <= part_columns,
                "64 rows of 16-bit elements, and the tile a row for each column of them");
  if constexpr (!stmatrix::available) {
    static_assert(warp_rows == 16, "without stmatrix there is no tensor memory");
#pragma unroll
    for (int i = 0; i < fragment.count; ++i)
      tile.at(fragment.column(i), fragment.row(i)) = round_to<Element>(fragment.value[i]);
    return;
  }
  const u32 thread = thread_of_warpgroup(), lane = thread % 32, warp_row = thread / 32 * warp_rows + first_row;
#pragma unroll
  for (int i = 0; i < columns / 16; ++i) {
    const f32* eight = &fragment.value[i * 8];
    const u32 words[4] = {pack<Element>(eight[0], eight[1]), pack<Element>(eight[2], eight[3]),
                          pack<Element>(eight[4], eight[5]), pack<Element>(eight[6], eight[7])};
    // A matrix stored transposed has a row for each of its columns: matrices 0 and 1 lie side by side, 2 and 3 below.
    stmatrix::store_transposed(
        tile.chunk(warp_row / 64 * part_columns + i * 16 + lane / 16 * 8 + lane % 8, warp_row % 64 / 8 + lane / 8 % 2),
        words);
  }
  if constexpr (columns % 16 != 0) {  // the last 8: lanes 0-15 give the rows
    const f32* four = &fragment.value[columns / 16 * 8];
    const u32 words[2] = {pack<Element>(four[0], four[1]), pack<Element>(four[2], four[3])};
    stmatrix::store_transposed(
        tile.chunk(warp_row / 64 * part_columns + columns - 8 + lane % 8, warp_row % 64 / 8 + lane / 8 % 2), words);
  }
}

}  // namespace wm
