// Rows of the output that no copy engine may store: it would go on into the next sequence's.
#pragma once

#include "warpmill/attention/arguments.h"
#include "warpmill/attention/plan.h"
#include "warpmill/types.cuh"

namespace wm {

// `rows` rows of a strip from `first_row` on, which begins at `column` of the output, to `position` and those behind
// it; 16 bytes at a time, by a whole warp.
template <AttentionPlan plan, class Strip>
WM_DEVICE void copy_rows(const AttentionArguments& args, const Strip& strip, u32 first_row, u32 rows, u32 column,
                         u64 position, u64 head) {
  using E = typename Strip::Element;
  constexpr u32 chunk_elements = 16 / sizeof(E);
  E* const out =
      reinterpret_cast<E*>(args.out_at) + position * args.out_position_stride + head * args.out_head_stride + column;
  u32 chunks = Strip::chunks;  // that a row has here
  if constexpr (plan.kind.value_dim % plan.strip_columns() != 0)
    chunks = min(chunks, (plan.kind.value_dim - column) / chunk_elements);
#pragma unroll 1
  for (u32 i = threadIdx.x % 32; i < rows * chunks; i += 32) {
    const u32 row = i / chunks, chunk = i % chunks;
    *reinterpret_cast<Quad<u32>*>(out + row * args.out_position_stride + chunk * chunk_elements) =
        *reinterpret_cast<const Quad<u32>*>(strip.data + strip.offset(first_row + row, chunk));
  }
}

}  // namespace wm
