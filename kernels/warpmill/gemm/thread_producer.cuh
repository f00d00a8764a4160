// Operands that the copy engine cannot address, brought into shared memory by the threads of the load warpgroup, in the
// layout that the engine would have given them (K-major, swizzled).
#pragma once

#include "warpmill/gemm/plan.h"
#include "warpmill/pipeline/roles.cuh"
#include "warpmill/ptx/cp_async.cuh"
#include "warpmill/tile/shared_tile.cuh"

namespace wm {

namespace detail {
template <int bytes>
using Bits = Select<bytes == 1, u8, Select<bytes == 2, u16, u32>>;
}

// One operand's stage: rows from `first_row` on (of `rows` in all) and columns from `first_k` on (of `k`); zeros outside.
template <Producer producer, Major major, class Element, int extent, int columns>
WM_DEVICE void produce(SharedTile<Element, extent, columns>& tile, const MatrixAddress& at, u32 matrix, u32 first_row,
                       u32 rows, u32 first_k, u32 k) {
  using Raw = detail::Bits<sizeof(Element)>;
  const Raw* const base = reinterpret_cast<const Raw*>(at.base) + matrix * at.matrix_stride;
  constexpr u32 size = sizeof(Element), chunk_elements = 16 / size;
  if constexpr (producer == Producer::elements) {
    constexpr u32 chunks = 128 / 16;
#pragma unroll 1
    for (u32 i = thread_of_warpgroup(); i < extent * chunks; i += warpgroup_threads) {
      // Neighbouring threads read what lies side by side.
      const u32 row = major == Major::mn ? i % extent : i / chunks, chunk = major == Major::mn ? i / extent : i % chunks;
      union {
        Raw element[chunk_elements];
        Quad<u32> all;
      } gathered;
#pragma unroll
      for (u32 j = 0; j < chunk_elements; ++j) {
        const u32 r = first_row + row, c = first_k + chunk * chunk_elements + j;
        gathered.element[j] = r < rows && c < k ? base[r * at.row_stride + c * at.column_stride] : Raw(0);
      }
      *reinterpret_cast<Quad<u32>*>(tile.data + tile.offset(row, chunk)) = gathered.all;
    }
  } else {
    constexpr u32 bytes = copy_bytes(producer), pieces = 128 / bytes;
#pragma unroll 4
    for (u32 i = thread_of_warpgroup(); i < extent * pieces; i += warpgroup_threads) {
      const u32 row = i / pieces, byte = i % pieces * bytes;
      const u32 r = first_row + row, c = first_k + byte / size;
      const u32 valid = r < rows && c < k ? min(bytes, (k - c) * size) : 0;
      const Raw* const from = valid ? base + r * at.row_stride + c : base;
      cp_async::copy<bytes>(tile.chunk(row, byte / 16) + byte % 16, from, valid);
    }
  }
}

}  // namespace wm
