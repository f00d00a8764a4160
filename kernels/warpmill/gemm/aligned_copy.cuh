// Copies of operands whose lines do not begin where the copy engine can read them, to where it can.
#pragma once

#include "warpmill/gemm/aligned_copy.h"
#include "warpmill/types.cuh"

namespace wm {

// A warp copies `line_piece` elements of a line at a time, each lane every 32nd: whatever the line's beginning, a
// warp's loads and stores are side by side. Word is as large as an element.
template <class Word>
__global__ __launch_bounds__(aligned_copy_threads) void copy_aligned(const __grid_constant__ AlignedCopies copies) {
  const u32 lane = threadIdx.x % 32, warps = gridDim.x * (aligned_copy_threads / 32);
  const u32 first = (blockIdx.x * aligned_copy_threads + threadIdx.x) / 32;
  for (const AlignedCopy& copy : copies.of) {
    const u64 pieces = (copy.length + line_piece - 1) / line_piece;
    for (u64 unit = first; unit < pieces * copy.lines * copy.matrices; unit += warps) {
      const u64 line = unit / pieces, matrix = line / copy.lines;
      const u64 begin = unit % pieces * line_piece + lane;
      const Word* const from = reinterpret_cast<const Word*>(copy.from) + matrix * copy.from_matrix_stride +
                               line % copy.lines * copy.from_pitch;
      Word* const to = reinterpret_cast<Word*>(copy.to) + line * copy.to_pitch;
      Word words[line_piece / 32];
#pragma unroll
      for (u32 i = 0; i < line_piece / 32; ++i)
        if (begin + i * 32 < copy.length) words[i] = from[begin + i * 32];
#pragma unroll
      for (u32 i = 0; i < line_piece / 32; ++i)
        if (begin + i * 32 < copy.length) to[begin + i * 32] = words[i];
    }
  }
}

}  // namespace wm
