// Operands brought into shared memory by threads, in the layout that the copy engine would have given them: what the
// engine cannot address, and everything where there is none.
#pragma once

#include "warpmill/gemm/arguments.h"
#include "warpmill/gemm/plan.h"
#include "warpmill/ptx/cp_async.cuh"
#include "warpmill/tile/element.cuh"
#include "warpmill/tile/operand_tile.cuh"

namespace wm {

namespace detail {
template <int bytes>
using Bits = Select<bytes == 1, u8, Select<bytes == 2, u16, u32>>;

// Lines of memory to rows of a tile, `columns` elements of each from `first_column` on (of `size` in all); zeros
// outside.
template <u32 bytes, u32 threads, u32 columns, class Tile, class Raw>
WM_DEVICE void copy_lines(Tile& tile, const Raw* base, i64 stride, u32 first_line, u32 lines, u32 first_column,
                          u32 size) {
  constexpr u32 pieces = columns * sizeof(Raw) / bytes;  // a line
#pragma unroll 4
  for (u32 i = threadIdx.x % threads; i < Tile::rows * pieces; i += threads) {
    const u32 row = i / pieces, byte = i % pieces * bytes;
    const u32 line = first_line + row, column = first_column + byte / u32(sizeof(Raw));
    const u32 valid = line < lines && column < size ? min(bytes, (size - column) * u32(sizeof(Raw))) : 0;
    const Raw* const from = valid ? base + line * stride + column : base;
    const SharedAddress to = tile.chunk(row, byte / 16) + byte % 16;
    if constexpr (bytes == 16)
      cp_async::copy_past_l1(to, from, valid);
    else
      cp_async::copy<bytes>(to, from, valid);
  }
}

// Element by element, from any strides; tf32 is rounded.
template <class Element, Major major, u32 threads, class Tile, class Raw>
WM_DEVICE void gather(Tile& tile, const Raw* base, const MatrixAddress& at, u32 first_row, u32 rows, u32 first_k,
                      u32 k) {
  constexpr u32 chunks = Tile::chunks, chunk_elements = 16 / sizeof(Raw);
#pragma unroll 1
  for (u32 i = threadIdx.x % threads; i < Tile::rows * chunks; i += threads) {
    // Neighbouring threads read what lies side by side.
    const u32 row = major == Major::mn ? i % Tile::rows : i / chunks;
    const u32 chunk = major == Major::mn ? i / Tile::rows : i % chunks;
    union {
      Raw element[chunk_elements];
      Quad<u32> all;
    } gathered;
#pragma unroll
    for (u32 j = 0; j < chunk_elements; ++j) {
      const u32 r = first_row + row, c = first_k + chunk * chunk_elements + j;
      const Raw element = r < rows && c < k ? base[r * at.row_stride + c * at.column_stride] : Raw(0);
      if constexpr (same<Element, tf32>)
        gathered.element[j] = round_to<tf32>(__uint_as_float(element)).bits;
      else
        gathered.element[j] = element;
    }
    *reinterpret_cast<Quad<u32>*>(tile.data + tile.offset(row, chunk)) = gathered.all;
  }
}
}  // namespace detail

// One operand's stage, by `threads` threads: rows from `first_row` on (of `rows` in all) and columns from `first_k` on
// (of `k`); zeros outside. `major` is the matrix's; where the tile is K-major all the same, it is transposed on the
// way.
template <Producer producer, Major major, u32 threads, class Element, Major tile_major, int extent, int tile_k>
WM_DEVICE void produce(OperandTile<Element, tile_major, extent, tile_k>& tile, const MatrixAddress& at, u32 matrix,
                       u32 first_row, u32 rows, u32 first_k, u32 k) {
  using Tile = OperandTile<Element, tile_major, extent, tile_k>;
  using Raw = detail::Bits<sizeof(Element)>;
  constexpr u32 bytes = copy_bytes(producer);
  const Raw* const base = reinterpret_cast<const Raw*>(at.base) + matrix * at.matrix_stride;
  if constexpr (tile_major == Major::k) {
#pragma unroll
    for (int i = 0; i < Tile::widths; ++i) {
      const u32 first = first_k + i * Tile::width_columns;
      if constexpr (producer == Producer::elements)
        detail::gather<Element, major, threads>(tile.width[i], base, at, first_row, rows, first, k);
      else
        detail::copy_lines<bytes, threads, Tile::width_columns>(tile.width[i], base, at.row_stride, first_row, rows,
                                                                first, k);
    }
  } else {
    constexpr u32 last = extent - (Tile::spans - 1) * Tile::span_columns;  // columns of the last span
#pragma unroll
    for (int i = 0; i < Tile::spans; ++i) {
      const u32 first = first_row + i * Tile::span_columns;
      if (i + 1 < Tile::spans)
        detail::copy_lines<bytes, threads, Tile::span_columns>(tile.span[i], base, at.column_stride, first_k, k, first,
                                                               rows);
      else
        detail::copy_lines<bytes, threads, last>(tile.span[i], base, at.column_stride, first_k, k, first, rows);
    }
  }
}

}  // namespace wm
