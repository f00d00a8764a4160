// Tensor maps and arguments of an attention's launch.
#include "ops/attention_launch.hpp"

#include <algorithm>
#include <bit>
#include <numbers>
#include <vector>

#include <fmt/format.h>

#include "ops/softcap.hpp"
#include "warpmill/error.hpp"
#include "warpmill/tensor_map.hpp"

namespace wm::ops {
namespace {

// Dimensions, the outermost first, with strides in elements; the last is a head's elements.
struct MappedDims {
  std::vector<std::int64_t> sizes, strides, box;
};

TensorMap map_heads(const Device& device, std::string_view name, DType dtype, std::uint64_t address,
                    const MappedDims& dims) {
  const auto bytes = static_cast<std::int64_t>(size_of(dtype));
  TensorMapSpec spec{.element = map_element(dtype),
                     .address = address,
                     .dims = dims.sizes,
                     .strides = {},
                     .swizzle = Swizzle::b128,
                     .l2_promotion = L2Promotion::b128,
                     .box = dims.box};
  // The stride of a dimension of one says nothing, and may be any legal one. One of 0 repeats a head or a batch.
  for (std::size_t i = 0; i < dims.strides.size(); ++i)
    spec.strides.push_back((dims.sizes[i] > 1 ? dims.strides[i] : dims.sizes.back()) * bytes);
  try {
    return make_tensor_map(device, spec);
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("attention refused: {}: {}", name, error.what()));
  }
}

// Elements of one swizzle width.
std::int64_t width_of(DType dtype) { return AttentionPlan::width_bytes / static_cast<std::int64_t>(size_of(dtype)); }

}  // namespace

PreparedAttention prepare_launch(const Device& device, const AttentionProblem& p, const AttentionPlan& plan) {
  const DeviceInfo& info = device.info();
  const std::int64_t tensors = p.kind.sequences ? 1 : p.batch;  // coordinate of a batch
  const QuerySchedule schedule = plan::schedule_of(plan, p.shape(), plan::rates_of(info));
  const auto map = [&](std::string_view name, const HeadTensor& t, std::int64_t heads, int dim, int positions) {
    if (t.positions == 0) return TensorMap{};  // nothing is copied
    return map_heads(device, name, t.dtype, t.address,
                     {{tensors, heads, t.positions, dim},
                      {t.batch_stride, t.head_stride, t.position_stride},
                      {1, 1, positions, width_of(t.dtype)}});
  };
  // Of Q and the output. Where a tile has several heads, a box has some positions of some heads that share keys.
  const auto map_rows = [&](std::string_view name, const HeadTensor& t, int dim, int rows) {
    if (plan.packed == 0 || t.positions == 0) return map(name, t, p.heads, dim, rows);
    const std::int64_t ratio = p.heads / p.kv_heads, positions = std::min(plan.packed, rows);
    return map_heads(device, name, t.dtype, t.address,
                     {{tensors, p.kv_heads, ratio, t.positions, dim},
                      {t.batch_stride, t.head_stride * ratio, t.head_stride, t.position_stride},
                      {1, 1, rows / positions, positions, width_of(t.dtype)}});
  };
  constexpr double log2e = std::numbers::log2e;
  // A scale of 0 would make numbers that are none of the scores that are masked out, -infinity.
  const double scale = std::max<double>(p.kind.softcap ? p.softcap : p.scale, 0x1p-100);
  const bool own_score = p.kind.expressions.score;  // which gets scores, and leaves scores
  const SoftcapNumbers softcap =
      p.kind.softcap ? softcap_numbers(p.softcap, p.scale, plan.grounded()) : SoftcapNumbers{};
  AttentionArguments arguments{
      .q = map_rows("q", p.q, p.kind.head_dim, plan.group_rows()),
      .k = map("k", p.k, p.kv_heads, p.kind.head_dim, plan.copied_keys()),
      .v = map("v", p.v, p.kv_heads, p.kind.value_dim, plan.copied_value_keys()),
      .out = map_rows("out", p.out, p.kind.value_dim, plan.out_rows()),
      .queries = static_cast<unsigned>(p.queries),
      .keys = static_cast<unsigned>(p.keys),
      .head_ratio = static_cast<unsigned>(p.heads / std::max<std::int64_t>(1, p.kv_heads)),
      .packed_log2 = static_cast<unsigned>(std::countr_zero(std::max(1u, static_cast<unsigned>(plan.packed)))),
      .query_offsets = p.query_offsets,
      .key_offsets = p.key_offsets,
      .align_ends = p.align_ends,
      .left = static_cast<int>(p.left),
      .right = static_cast<int>(p.right),
      .scale_log2 = static_cast<float>((own_score ? 1 : scale) * log2e),
      .softcap_inner = softcap.inner,
      .softcap_series = softcap.series,
      .low_cap = softcap.limits,
      .near_cap = softcap.near,
      .lse = p.lse.address,
      .lse_batch_stride = p.lse.batch_stride,
      .lse_head_stride = p.lse.head_stride,
      .out_at = p.out.address,
      .out_position_stride = p.out.position_stride,
      .out_head_stride = p.out.head_stride,
      .counter = 0,  // the call's
      .schedule = schedule,
      .slopes = p.slopes,
      .sinks = p.sinks,
      .alibi_unit = static_cast<float>(1 / scale),
      .key_lengths = p.key_lengths,
      .score_scale = static_cast<float>(scale),
      .arrays = {},
      .q_scales = p.q_scales,
      .k_scales = p.k_scales,
      .v_scales = p.v_scales,
      .out_scale = p.out_scale};
  std::ranges::copy(p.arrays, arguments.arrays);
  const LaunchConfig config{.grid = {plan::blocks_of(plan, schedule, plan::rates_of(info))},
                            .block = {static_cast<std::uint32_t>(plan.threads())},
                            .cluster = {static_cast<std::uint32_t>(plan.blocks_together())},
                            .shared_bytes = static_cast<std::uint32_t>(plan.shared_bytes()),
                            .programmatic_dependent = true};
  return {config, arguments};
}

}  // namespace wm::ops
