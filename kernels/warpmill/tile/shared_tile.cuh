// Tiles in shared memory that know their layout: rows of one swizzle width, as the copy engine writes them and the
// tensor cores read them.
#pragma once

#include "warpmill/ptx/wgmma.cuh"
#include "warpmill/types.cuh"

namespace wm {

// `rows` rows of `columns` elements; a row is as wide as the swizzle: 128, 64 or 32 bytes. Within each group of eight
// rows the 16-byte chunks of a row are exchanged by xor, so that a column of chunks touches all banks.
template <class Element_, int rows_, int columns_ = 128 / sizeof(Element_)>
struct alignas(1024) SharedTile {
  using Element = Element_;
  static constexpr int rows = rows_, columns = columns_;
  static constexpr int row_bytes = columns * int(sizeof(Element));
  static constexpr int bytes = rows * row_bytes;
  static constexpr int chunks = row_bytes / 16;  // a row
  static_assert(row_bytes == 128 || row_bytes == 64 || row_bytes == 32, "a tile's row is as wide as a swizzle");
  static_assert(rows % 8 == 0, "a swizzle repeats every eight rows");

  u8 data[bytes];

  // Where the 16-byte chunk `chunk` of `row` lies. A row of 64 (32) bytes repeats the pattern every 2 (4) rows.
  static WM_DEVICE u32 offset(u32 row, u32 chunk) {
    return row * row_bytes + ((chunk ^ (row / (8 / chunks) % chunks)) * 16);
  }
  WM_DEVICE SharedAddress chunk(u32 row, u32 chunk) { return SharedAddress(data) + offset(row, chunk); }
  // One element, by an ordinary access.
  WM_DEVICE Element& at(u32 row, u32 column) {
    constexpr u32 chunk_elements = 16 / sizeof(Element);
    return reinterpret_cast<Element*>(data + offset(row, column / chunk_elements))[column % chunk_elements];
  }
  // The part of the tile that begins at `row`, a multiple of 8.
  WM_DEVICE SharedAddress from_row(u32 row) { return SharedAddress(data) + row * row_bytes; }

  // The rows from `row` on as an operand of wgmma: K-major, a row of the tile along k. Adding 32 bytes goes one step
  // of k further.
  static constexpr wgmma::Swizzle swizzle = row_bytes == 128  ? wgmma::Swizzle::bytes128
                                            : row_bytes == 64 ? wgmma::Swizzle::bytes64
                                                              : wgmma::Swizzle::bytes32;
  WM_DEVICE wgmma::Descriptor operand(u32 row) { return wgmma::descriptor(from_row(row), 0, 8 * row_bytes, swizzle); }
};

}  // namespace wm
