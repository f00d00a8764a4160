// Instructions of a product from those of small ones.
#include "gemm/instructions.hpp"

#include <algorithm>

#include "ops/gemm_problem.hpp"
#include "plan/gemm_choice.hpp"
#include "warpmill/virtual.hpp"

namespace wm::bench {
namespace {

// The first rows, columns and products of a request: the same operands, strides and plan.
GemmRequest part_of(GemmRequest request, std::int64_t m, std::int64_t n, std::int64_t k) {
  const auto cut = [](View& view, std::int64_t rows, std::int64_t columns) {
    const std::size_t last = view.shape.size() - 1;
    if (last > 1) view.shape[0] = 1;  // of a batch
    view.shape[last - 1] = rows;
    view.shape[last] = columns;
  };
  const auto cut_vector = [](std::optional<View>& view, std::int64_t size) {
    if (view && view->elements() > 1) view->shape = {size};
  };
  cut(request.a, m, k);
  cut(request.b, k, n);
  cut(request.d, m, n);
  if (request.epilogue.c) cut(*request.epilogue.c, m, n);
  cut_vector(request.epilogue.row_scale, m);
  cut_vector(request.epilogue.row_bias, m);
  cut_vector(request.epilogue.column_scale, n);
  cut_vector(request.epilogue.column_bias, n);
  return request;
}

}  // namespace

std::uint64_t expected_instructions(const Stream& stream, const RandomProduct& problem,
                                    const std::optional<GemmPlan>& by_hand) {
  const Device& device = stream.device();
  const plan::ChipRates rates = plan::rates_of(device.info());
  const Shape& shape = problem.shape;
  const plan::GemmShape sizes{shape.m, shape.n, shape.k, shape.batch};
  GemmRequest request = problem.request();
  const GemmKind kind = ops::understand(stream, request, rates.instruction).kind;
  if (by_hand)
    request.plan = by_hand;
  else if (const auto choice = plan::choose(kind, sizes, rates, device.info().name))
    request.plan = choice->plan;
  else
    return 0;
  const GemmPlan& plan = *request.plan;
  std::int64_t m = std::int64_t(plan.tile.m) * plan.cluster.m, n = std::int64_t(plan.tile.n) * plan.cluster.n;
  if (plan.exchange) std::swap(m, n);
  m = std::min(m, shape.m), n = std::min(n, shape.n);
  const std::int64_t step = std::int64_t(plan.tile_k()) * plan.cluster.k;
  // Too few steps for a tile to be shared among blocks.
  const std::int64_t few = std::min(shape.k, 3 * step), more = std::min(shape.k, 7 * step);
  const auto instructions = [&](std::int64_t k) {
    wm::gemm(stream, part_of(request, m, n, k));
    return static_cast<double>(vgpu::last_run(device).warp_instructions);
  };
  const double of_few = instructions(few), of_more = more > few ? instructions(more) : of_few;
  problem.poison(stream);
  const double each = more > few ? (of_more - of_few) / static_cast<double>(more - few) : 0;
  const double tiles = static_cast<double>(plan::schedule_of(plan, sizes, rates).tiles);
  return static_cast<std::uint64_t>(tiles * (of_more + each * static_cast<double>(shape.k - more)));
}

}  // namespace wm::bench
