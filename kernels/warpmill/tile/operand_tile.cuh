// One operand of a product in shared memory: `extent` elements along m or n by `k` along k, as the copy engine writes
// it and the tensor cores read it, in either major-ness. It lies there in swizzle widths of 128 bytes, each a
// SharedTile; nobody outside counts their bytes.
#pragma once

#include "warpmill/ptx/tma.cuh"
#include "warpmill/tile/shared_tile.cuh"

namespace wm {

// The blocks of a cluster that need the same operand: the first of them, or all, copy a part of it each to all of them.
struct Shares {
  int blocks = 1, parts = 1;
};
struct Sharing {
  u32 number = 0;  // which of the blocks we are
  u16 blocks = 1;  // a bit for each rank
};

namespace detail {
// Coordinates of a tensor map, innermost first: two inside a matrix, then which matrix.
template <int outer>
struct Coordinates {
  i32 at[2 + outer];
  WM_DEVICE Coordinates(i32 inner, i32 line, const i32* matrix) {
    at[0] = inner;
    at[1] = line;
#pragma unroll
    for (int i = 0; i < outer; ++i) at[2 + i] = matrix[i];
  }
};

template <Shares shares, int outer>
WM_DEVICE void load_part(SharedAddress to, const TensorMap& map, const Coordinates<outer>& place, SharedAddress full,
                         CachePolicy policy, Sharing sharing) {
  if constexpr (shares.blocks > 1)
    tma::load_multicast(to, map, place.at, full, sharing.blocks, policy);
  else
    tma::load(to, map, place.at, full, policy);
}
// The bytes are counted by a barrier of either block of the pair.
template <Shares shares, int outer>
WM_DEVICE void load_part(SharedAddress to, const TensorMap& map, const Coordinates<outer>& place, ClusterAddress full,
                         CachePolicy policy, Sharing) {
  static_assert(shares.blocks == 1, "a pair of blocks shares no copies");
  tma::load_for_pair(to, map, place.at, full, policy);
}
}  // namespace detail

// `steps` are products, of 32 bytes along k each. A copy of a K-major tile has a box of one width by extent / parts
// rows; of an MN-major one, of one width (or all of a smaller extent) by k / parts rows.
template <class Element_, Major major, int extent, int k = 128 / sizeof(Element_)>
struct OperandTile;

// A row for each m or n, along k; the widths side by side along k.
template <class Element_, int extent_, int k_>
struct OperandTile<Element_, Major::k, extent_, k_> {
  using Element = Element_;
  static constexpr Major major = Major::k;
  static constexpr int extent = extent_, k = k_, steps = k * int(sizeof(Element)) / 32;
  static constexpr int width_columns = 128 / sizeof(Element), steps_per_width = 4,
                       widths = (steps + steps_per_width - 1) / steps_per_width;
  static_assert(k * sizeof(Element) % 32 == 0, "k is a whole number of products, 32 bytes each");
  SharedTile<Element, extent, width_columns> width[widths];

  // Our part's rows from coordinate `mn` on, from `first_k` along k; of which matrix, where the map has several.
  template <Shares shares = Shares{}, int outer>
  WM_DEVICE void load(const TensorMap& map, u32 mn, u32 first_k, const i32 (&matrix)[outer], SharedAddress full,
                      CachePolicy policy = {}, Sharing sharing = {}) {
    load_at<shares, outer>(map, mn, first_k, matrix, full, policy, sharing);
  }
  WM_DEVICE void load(const TensorMap& map, u32 mn, u32 first_k, SharedAddress full, CachePolicy policy = {}) {
    load_at<Shares{}, 0>(map, mn, first_k, nullptr, full, policy, {});
  }
  // Where two blocks multiply together: `full` lies in either of them.
  template <int outer>
  WM_DEVICE void load_for_pair(const TensorMap& map, u32 mn, u32 first_k, const i32 (&matrix)[outer],
                               ClusterAddress full, CachePolicy policy) {
    load_at<Shares{}, outer>(map, mn, first_k, matrix, full, policy, {});
  }
  // Brings what load() would copy into L2.
  template <Shares shares = Shares{}, int outer>
  static WM_DEVICE void prefetch(const TensorMap& map, u32 mn, u32 first_k, const i32 (&matrix)[outer],
                                 Sharing sharing = {}) {
    if (shares.parts < shares.blocks && sharing.number >= shares.parts) return;
    for (int i = 0; i < widths; ++i) {
      const detail::Coordinates<outer> place(first_k + i * width_columns, mn + sharing.number * (extent / shares.parts),
                                             matrix);
      tma::prefetch(map, place.at);
    }
  }
  // The rows from `row` on, at one step along k, as wgmma reads them.
  WM_DEVICE wgmma::Descriptor operand(u32 row, u32 step) {
    return width[step / steps_per_width].operand(row) + step % steps_per_width * 32;
  }

 private:
  template <Shares shares, int outer, class Full>
  WM_DEVICE void load_at(const TensorMap& map, u32 mn, u32 first_k, const i32* matrix, Full full, CachePolicy policy,
                         Sharing sharing) {
    if (shares.parts < shares.blocks && sharing.number >= shares.parts) return;
    const u32 first = sharing.number * (extent / shares.parts);
#pragma unroll
    for (int i = 0; i < widths; ++i)
      detail::load_part<shares, outer>(width[i].from_row(first), map,
                                       {i32(first_k + i * width_columns), i32(mn + first), matrix}, full, policy,
                                       sharing);
  }
};

// A row for each k, along m or n; spans of one width beside each other along m or n. Elements of 16 bits, and of 8
// where the tensor cores are told where they lie by tcgen05.
template <class Element_, int extent_, int k_>
struct OperandTile<Element_, Major::mn, extent_, k_> {
  using Element = Element_;
  static_assert(sizeof(Element) <= 2, "MN-major operands have 16 bits, or 8");
  static constexpr Major major = Major::mn;
  static constexpr int extent = extent_, k = k_, step_rows = 32 / sizeof(Element), steps = k / step_rows;
  static constexpr int span_columns = 128 / sizeof(Element), spans = (extent + span_columns - 1) / span_columns;
  static_assert(k % step_rows == 0, "k is a whole number of products, 32 bytes of each column");
  using Span = SharedTile<Element, k, span_columns>;
  Span span[spans];

  template <Shares shares = Shares{}, int outer>
  WM_DEVICE void load(const TensorMap& map, u32 mn, u32 first_k, const i32 (&matrix)[outer], SharedAddress full,
                      CachePolicy policy = {}, Sharing sharing = {}) {
    load_at<shares, outer>(map, mn, first_k, matrix, full, policy, sharing);
  }
  WM_DEVICE void load(const TensorMap& map, u32 mn, u32 first_k, SharedAddress full, CachePolicy policy = {}) {
    load_at<Shares{}, 0>(map, mn, first_k, nullptr, full, policy, {});
  }
  // Where two blocks multiply together: `full` lies in either of them.
  template <int outer>
  WM_DEVICE void load_for_pair(const TensorMap& map, u32 mn, u32 first_k, const i32 (&matrix)[outer],
                               ClusterAddress full, CachePolicy policy) {
    load_at<Shares{}, outer>(map, mn, first_k, matrix, full, policy, {});
  }
  template <Shares shares = Shares{}, int outer>
  static WM_DEVICE void prefetch(const TensorMap& map, u32 mn, u32 first_k, const i32 (&matrix)[outer],
                                 Sharing sharing = {}) {
    if (shares.parts < shares.blocks && sharing.number >= shares.parts) return;
    for (int i = 0; i < spans; ++i) {
      const detail::Coordinates<outer> place(mn + i * span_columns, first_k + sharing.number * (k / shares.parts),
                                             matrix);
      tma::prefetch(map, place.at);
    }
  }
  // From `row` along m or n, a multiple of the span.
  WM_DEVICE wgmma::Descriptor operand(u32 row, u32 step) {
    static_assert(sizeof(Element) == 2, "wgmma reads MN-major operands of 16 bits only");
    constexpr u32 eight_rows = 8 * Span::row_bytes;
    return wgmma::descriptor(span[row / span_columns].from_row(0), sizeof(Span), eight_rows, Span::swizzle) +
           step * (step_rows * Span::row_bytes);
  }

 private:
  template <Shares shares, int outer, class Full>
  WM_DEVICE void load_at(const TensorMap& map, u32 mn, u32 first_k, const i32* matrix, Full full, CachePolicy policy,
                         Sharing sharing) {
    if (shares.parts < shares.blocks && sharing.number >= shares.parts) return;
    const u32 first = sharing.number * (k / shares.parts);
#pragma unroll
    for (int i = 0; i < spans; ++i)
      detail::load_part<shares, outer>(span[i].from_row(first), map,
                                       {i32(mn + i * span_columns), i32(first_k + first), matrix}, full, policy,
                                       sharing);
  }
};

}  // namespace wm
