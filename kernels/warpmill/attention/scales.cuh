// What takes products to scores and sums to the output. It is the same for all of an attention, and part of its
// arguments, but where elements are e4m3: their numbers have scales for each batch and head.
#pragma once

#include "warpmill/attention/tiles.cuh"

namespace wm {

// As AttentionArguments names them.
struct TileScales {
  f32 scale_log2, softcap_inner;
  SoftcapSeries softcap_series;
  f32 alibi_unit, score_scale;
};
template <AttentionPlan plan>
using ScalesOf = Select<plan.kind.narrow(), TileScales, AttentionArguments>;

namespace detail {
template <AttentionPlan plan>
WM_DEVICE f32 scale_of(const HeadScales& scales, const AttentionArguments& args, const Tile<plan>& tile) {
  if (scales.at == 0) return 1.f;
  return reinterpret_cast<const f32*>(
      scales.at)[tile.sequence.number * scales.batch_stride + tile.head / args.head_ratio * scales.head_stride];
}
}  // namespace detail

// Of the scores of a tile, whose heads share keys.
template <AttentionPlan plan>
WM_DEVICE decltype(auto) score_scales(const AttentionArguments& args, const Tile<plan>& tile) {
  if constexpr (!plan.kind.narrow()) {
    return (args);
  } else {
    // Not 0: times -infinity, a score that is not seen, that is no number.
    const f32 given = detail::scale_of(args.q_scales, args, tile) * detail::scale_of(args.k_scales, args, tile);
    const f32 product = fmaxf(given, 0x1p-100f);
    // With a softcap the tanh is scaled, and with a score of the caller's own what he has made of it.
    constexpr bool inner = plan.kind.softcap;
    const f32 outer = inner ? 1.f : product;
    return TileScales{plan.kind.expressions.score ? args.scale_log2 : args.scale_log2 * outer,
                      args.softcap_inner * product, inner ? args.softcap_series.of(product) : SoftcapSeries{},
                      args.alibi_unit / outer, args.score_scale * outer};
  }
}
// What sums are multiplied with besides the weights' total.
template <AttentionPlan plan>
WM_DEVICE f32 out_scale(const AttentionArguments& args, const Tile<plan>& tile) {
  if constexpr (!plan.kind.narrow()) {
    return 1.f;
  } else {
    const f32 values = detail::scale_of(args.v_scales, args, tile);
    if (plan.kind.out != DType::e4m3 || args.out_scale == 0) return values;
    return values * *reinterpret_cast<const f32*>(args.out_scale);
  }
}

}  // namespace wm
