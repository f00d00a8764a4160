// One operand's stage: `extent` elements along m or n by one swizzle width (128 bytes) along k, as the copy engine
// writes it and wgmma reads it, in either major-ness.
#pragma once

#include "warpmill/ptx/tma.cuh"
#include "warpmill/tile/shared_tile.cuh"

namespace wm {

// The blocks of a cluster that need the same operand: each copies a share of it to all of them.
struct Sharing {
  u32 share;   // which is ours
  u16 blocks;  // a bit a rank
};

namespace detail {
template <int shares>
WM_DEVICE void load_share(SharedAddress to, const TensorMap& map, const i32 (&at)[3], SharedAddress full,
                          Sharing sharing, CachePolicy policy) {
  if constexpr (shares > 1)
    tma::load_multicast(to, map, at, full, sharing.blocks, policy);
  else
    tma::load(to, map, at, full, policy);
}
}  // namespace detail

template <class Element_, Major major, int extent>
struct OperandTile;

// A row for each m or n, along k.
template <class Element_, int extent>
struct OperandTile<Element_, Major::k, extent> {
  static constexpr int k = 128 / sizeof(Element_);
  static constexpr u32 k_step_bytes = 32;  // from one wgmma to the next, inside the swizzle's width
  SharedTile<Element_, extent, k> rows;

  // The share's rows from coordinate `mn` on, at `step` along k.
  template <int shares>
  WM_DEVICE void load(const TensorMap& map, u32 mn, u32 step, u32 matrix, SharedAddress full, Sharing sharing,
                      CachePolicy policy) {
    const u32 first = sharing.share * (extent / shares);
    detail::load_share<shares>(rows.from_row(first), map, {i32(step * k), i32(mn + first), i32(matrix)}, full, sharing,
                               policy);
  }
  // Brings what load() would copy into L2.
  template <int shares>
  static WM_DEVICE void prefetch(const TensorMap& map, u32 mn, u32 step, u32 matrix, Sharing sharing) {
    tma::prefetch(map, {i32(step * k), i32(mn + sharing.share * (extent / shares)), i32(matrix)});
  }
  WM_DEVICE wgmma::Descriptor operand(u32 row) { return rows.operand(row); }
};

// Spans of one swizzle width along m or n, each with a row for every k. 16-bit elements.
template <class Element_, int extent>
struct OperandTile<Element_, Major::mn, extent> {
  static_assert(sizeof(Element_) == 2, "wgmma reads MN-major operands of 16 bits only");
  static constexpr int k = 64, span_columns = 64, spans = (extent + span_columns - 1) / span_columns;
  static constexpr u32 k_step_bytes = 16 * 128;  // sixteen rows
  using Span = SharedTile<Element_, k, span_columns>;
  Span span[spans];

  template <int shares>
  WM_DEVICE void load(const TensorMap& map, u32 mn, u32 step, u32 matrix, SharedAddress full, Sharing sharing,
                      CachePolicy policy) {
    const u32 first = sharing.share * (k / shares);
#pragma unroll
    for (int i = 0; i < spans; ++i)
      detail::load_share<shares>(span[i].from_row(first), map,
                                 {i32(mn + i * span_columns), i32(step * k + first), i32(matrix)}, full, sharing,
                                 policy);
  }
  template <int shares>
  static WM_DEVICE void prefetch(const TensorMap& map, u32 mn, u32 step, u32 matrix, Sharing sharing) {
    for (int i = 0; i < spans; ++i)
      tma::prefetch(map, {i32(mn + i * span_columns), i32(step * k + sharing.share * (k / shares)), i32(matrix)});
  }
  // From `row` along m or n, a multiple of the span.
  WM_DEVICE wgmma::Descriptor operand(u32 row) {
    return wgmma::descriptor(span[row / span_columns].from_row(0), sizeof(Span), 8 * 128, wgmma::Swizzle::bytes128);
  }
};

}  // namespace wm
