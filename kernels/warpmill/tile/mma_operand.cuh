// From an operand's stage in shared memory to the words that a warp's mma.sync takes: 32 bytes of k at a time, which is
// one product of 16-bit, 8-bit and tf32 elements alike.
//
// Each function loads four 8x8 matrices of 16-byte rows, two above two, with one ldmatrix: 16 rows of A or of B (its
// columns) from `row` on. What mma wants in its first two words differs: of A two matrices above each other (8 rows, 8
// more), of B two side by side (16 bytes of k, 16 more).
#pragma once

#include "warpmill/ptx/ldmatrix.cuh"
#include "warpmill/tile/operand_tile.cuh"

namespace wm {

namespace detail {
// Where this lane's row of the four matrices lies, numbered down each column of them, or along each row.
template <class Tile>
WM_DEVICE SharedAddress matrices_down(Tile& tile, u32 row, u32 chunk) {
  const u32 lane = threadIdx.x % 32;
  return tile.chunk(row + lane % 16, chunk + lane / 16);
}
template <class Tile>
WM_DEVICE SharedAddress matrices_along(Tile& tile, u32 row, u32 chunk) {
  const u32 lane = threadIdx.x % 32;
  return tile.chunk(row + lane / 16 * 8 + lane % 8, chunk + lane / 8 % 2);
}
}  // namespace detail

// words: (rows 0-7, first 16 bytes), (rows 8-15, first), (rows 0-7, second), (rows 8-15, second).
template <class Element, int extent, int k>
WM_DEVICE void load_a(u32 (&words)[4], OperandTile<Element, Major::k, extent, k>& tile, u32 row, u32 step) {
  ldmatrix::load(words,
                 detail::matrices_down(tile.width[step / tile.steps_per_width], row, step % tile.steps_per_width * 2));
}
// A span has a row for each k: what lies side by side in it goes down A.
template <class Element, int extent, int k>
WM_DEVICE void load_a(u32 (&words)[4], OperandTile<Element, Major::mn, extent, k>& tile, u32 row, u32 step) {
  ldmatrix::load_transposed(
      words, detail::matrices_along(tile.span[row / tile.span_columns], step * 16, row % tile.span_columns / 8));
}

// words: two products' worth, (rows 0-7, first 16 bytes), (rows 0-7, second), (rows 8-15, first), (rows 8-15, second).
template <class Element, int extent, int k>
WM_DEVICE void load_b(u32 (&words)[2][2], OperandTile<Element, Major::k, extent, k>& tile, u32 row, u32 step) {
  ldmatrix::load(reinterpret_cast<u32(&)[4]>(words),
                 detail::matrices_along(tile.width[step / tile.steps_per_width], row, step % tile.steps_per_width * 2));
}
template <class Element, int extent, int k>
WM_DEVICE void load_b(u32 (&words)[2][2], OperandTile<Element, Major::mn, extent, k>& tile, u32 row, u32 step) {
  ldmatrix::load_transposed(
      reinterpret_cast<u32(&)[4]>(words),
      detail::matrices_down(tile.span[row / tile.span_columns], step * 16, row % tile.span_columns / 8));
}

}  // namespace wm
