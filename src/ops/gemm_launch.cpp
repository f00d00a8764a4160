// Tensor maps and arguments of a GEMM's launches.
#include "ops/gemm_launch.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "warpmill/cache_policy.h"
#include "warpmill/error.hpp"
#include "warpmill/tensor_map.hpp"

namespace wm::ops {
namespace {

// `rows` lines of `columns` elements side by side, `pitch` elements from one to the next, `batch` times.
TensorMap map_lines(const Device& device, std::string_view name, DType dtype, const Matrix& matrix, std::int64_t pitch,
                    std::int64_t rows, std::int64_t columns, std::int64_t batch, std::int64_t box_rows,
                    std::int64_t box_columns) {
  const auto bytes = static_cast<std::int64_t>(size_of(dtype));
  // Where there is one line or one matrix, its stride says nothing and may be any legal one.
  const std::int64_t line = rows > 1 ? pitch * bytes : (columns * bytes + 15) / 16 * 16;
  const bool several = batch > 1 && matrix.matrix_stride != 0;
  const TensorMapSpec spec{.element = map_element(dtype),
                           .address = matrix.address,
                           .dims = {several ? batch : 1, rows, columns},
                           .strides = {several ? matrix.matrix_stride * bytes : line, line},
                           .swizzle = Swizzle::b128,
                           // Not 256: rows that start inside a line would bring twice what is read (docs/gemm.md).
                           .l2_promotion = L2Promotion::b128,
                           .box = {1, box_rows, box_columns}};
  try {
    return make_tensor_map(device, spec);
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("gemm refused: {}: {}", name, error.what()));
  }
}

TensorMap map_operand(const Device& device, std::string_view name, DType dtype, Major major, const Matrix& matrix,
                      std::int64_t extent, std::int64_t k, std::int64_t batch, const GemmPlan& plan, int tile_extent,
                      int shares) {
  if (!plan.kind.by_tma()) return {};
  // The engine rounds what the tensor cores would cut off.
  if (dtype == DType::f32) dtype = DType::tf32;
  if (major == Major::k)
    return map_lines(device, name, dtype, matrix, matrix.row_stride, extent, k, batch, tile_extent / shares,
                     plan.tile_k());
  return map_lines(device, name, dtype, matrix, matrix.column_stride, k, extent, batch, plan.tile_k() / shares,
                   plan.span_columns(tile_extent));
}

// Rows of elements with block scales, a stage's width of 128 bytes of shared memory at a time: bytes as they lie, or
// fewer bits than 8 spread sixteen by sixteen over 16 bytes.
TensorMap map_block_scaled(const Device& device, std::string_view name, BlockFormat format, bool packed,
                           const Matrix& matrix, std::int64_t rows, int tile_rows) {
  const int bits = facts_of(format).bits;
  const std::int64_t pitch = matrix.row_stride;  // bytes
  const TensorMapSpec spec{.element = packed || bits == 8 ? MapElement::u8
                                      : bits == 6         ? MapElement::u6x16_align16
                                                          : MapElement::u4x16_align16,
                           .address = matrix.address,
                           .dims = {1, rows, packed ? pitch : pitch * 8 / bits},
                           .strides = {pitch, pitch},
                           .swizzle = Swizzle::b128,
                           .l2_promotion = L2Promotion::b128,
                           .box = {1, tile_rows, GemmPlan::row_bytes}};
  try {
    return make_tensor_map(device, spec);
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("gemm refused: {}: {}", name, error.what()));
  }
}

// The blocks of scales of an operand: those of a tile's rows, and of a stage along k, at a time.
TensorMap map_scales(const Device& device, const Scales& scales, std::int64_t rows, int tile_rows,
                     const GemmPlan& plan) {
  constexpr std::int64_t words = scale_block_bytes / ScaleMaps::word;
  constexpr std::int64_t pair_rows = 2 * scale_block_rows;  // rows are padded to these
  const std::int64_t row_blocks = (rows + pair_rows - 1) / pair_rows * 2;
  return make_tensor_map(device, {.element = MapElement::u64,
                                  .address = scales.address,
                                  .dims = {row_blocks, scales.blocks * words},
                                  .strides = {scales.blocks * std::int64_t{scale_block_bytes}},
                                  .l2_promotion = L2Promotion::b128,
                                  .box = {GemmPlan::scale_rows(tile_rows), plan.kind.scale_blocks() * words}});
}

TensorMap map_strip(const Device& device, const GemmProblem& p, const Matrix& d, std::int64_t batch,
                    const GemmPlan& plan, int columns) {
  if (!plan.stores_by_engine()) return {};
  if (plan.kind.d_columns) return map_lines(device, "d", p.kind.d, d, d.column_stride, p.n, p.m, batch, columns, 64);
  return map_lines(device, "d", p.kind.d, d, d.row_stride, p.m, p.n, batch, plan.strip_rows(), columns);
}

// An operand's matrices in one launch: the one with the lowest address, and how many strides its map reaches.
struct Matrices {
  Matrix first;
  std::int64_t count;
};

// `products` of the batch from `begin` on. A list's get numbers, in strides from the first.
Matrices matrices_of(const Matrix& matrix, DType dtype, const std::vector<std::uint64_t>& listed, std::size_t begin,
                     std::size_t products, std::int64_t otherwise, unsigned* numbers) {
  if (listed.empty()) return {matrix, otherwise};
  const auto list = std::span(listed).subspan(begin, products);
  Matrices matrices{matrix, 1};
  matrices.first.address = *std::min_element(list.begin(), list.end());
  const std::uint64_t stride = static_cast<std::uint64_t>(matrix.matrix_stride) * size_of(dtype);
  for (std::size_t i = 0; i < products; ++i) {
    numbers[i] = static_cast<unsigned>((list[i] - matrices.first.address) / stride);
    matrices.count = std::max(matrices.count, std::int64_t{numbers[i]} + 1);
  }
  return matrices;
}

// How many products from `begin` on one launch takes: all of a batch with strides; of a list as many as there are
// numbers for, and as lie within 2^31 strides of each other.
std::size_t products_of_launch(const GemmProblem& p, std::size_t begin) {
  const std::size_t batch = static_cast<std::size_t>(p.batch);
  if (!p.kind.listed) return batch;
  std::size_t products = std::min<std::size_t>(MatrixNumbers::most, batch - begin);
  const auto limit = [&](const Matrix& matrix, DType dtype, const std::vector<std::uint64_t>& listed) {
    if (listed.empty()) return;
    const std::uint64_t reach = static_cast<std::uint64_t>(matrix.matrix_stride) * size_of(dtype) * 0x7fffffff;
    std::uint64_t least = listed[begin], most = listed[begin];
    for (std::size_t i = 0; i < products; ++i) {
      least = std::min(least, listed[begin + i]), most = std::max(most, listed[begin + i]);
      if (most - least > reach) products = i;
    }
  };
  limit(p.a, p.kind.a, p.listed.a);
  limit(p.b, p.kind.b, p.listed.b);
  limit(p.c, p.kind.epilogue.c, p.listed.c);
  limit(p.d, p.kind.d, p.listed.d);
  return products;
}

PreparedLaunch prepare_launch(const Device& device, const GemmProblem& p, const GemmPlan& plan,
                              const WorkSchedule& work, std::size_t begin, std::size_t products, EarlyOperands early) {
  std::unique_ptr<MatrixNumbers> numbers = p.kind.listed ? std::make_unique<MatrixNumbers>() : nullptr;
  const std::int64_t otherwise = p.kind.listed ? 1 : p.batch;
  const auto matrices = [&](const Matrix& matrix, DType dtype, const std::vector<std::uint64_t>& listed,
                            unsigned(MatrixNumbers::*which)[MatrixNumbers::most]) {
    return matrices_of(matrix, dtype, listed, begin, products, otherwise, numbers ? (*numbers).*which : nullptr);
  };
  const Matrices a = matrices(p.a, p.kind.a, p.listed.a, &MatrixNumbers::a),
                 b = matrices(p.b, p.kind.b, p.listed.b, &MatrixNumbers::b),
                 c = matrices(p.c, p.kind.epilogue.c, p.listed.c, &MatrixNumbers::c),
                 d = matrices(p.d, p.kind.d, p.listed.d, &MatrixNumbers::d);
  const auto address = [](const Matrix& m) {
    return MatrixAddress{m.address, m.row_stride, m.column_stride, m.matrix_stride};
  };
  // Where one row or column of tiles is all there is, the other operand is read once: its lines make room first, those
  // of the operand that every tile reads stay; and as memory is the limit, the first of what
  // streams is brought into L2 while the kernel ahead is ending. A list may name a matrix twice.
  const auto once = [&](unsigned tiles, const Matrix& m) {
    return tiles == 1 && (p.batch == 1 || (m.matrix_stride != 0 && !p.kind.listed));
  };
  const bool a_streams = once(work.tiles.columns, p.a), b_streams = once(work.tiles.rows, p.b);
  const unsigned blocks = work.clusters * static_cast<unsigned>(plan.cluster_size());
  // Of what streams the first stages are loaded before the kernel ahead has ended, where that does not write it. Blocks
  // on half the chip or less run beside that kernel's anyway, and would only take memory's time from it; but for the
  // tallest, that have few stages and large ones.
  const bool may_be_early = (a_streams && early.a) || (b_streams && early.b);
  const bool fills = 2 * blocks > static_cast<unsigned>(device.info().multiprocessors) || plan.tile.m >= 192;
  if (!plan.loads_early() || !may_be_early || !fills) early = {};
  const auto policy = [](bool streams, bool other) -> std::uint64_t {
    return (streams ? cache::evict_first : other ? cache::evict_last : CachePolicy{}).bits;
  };
  constexpr unsigned ahead = 4;  // steps; docs/gemm.md has what more and fewer cost
  const auto a_map = [&] {
    if (p.kind.scaled() && p.kind.a_major == Major::k)
      return map_block_scaled(device, "a", p.kind.a_format, p.kind.packed(), a.first, p.m,
                              plan.tile.m / plan.a_parts());
    return map_operand(device, "a", p.kind.a, p.kind.a_major, a.first, p.m, p.k, a.count, plan, plan.tile.m,
                       plan.a_parts());
  };
  const auto b_map = [&] {
    if (p.kind.scaled() && p.kind.b_major == Major::k)
      return map_block_scaled(device, "b", p.kind.b_format, p.kind.packed(), b.first, p.n,
                              plan.b_rows() / plan.b_parts());
    return map_operand(device, "b", p.kind.b, p.kind.b_major, b.first, p.n, p.k, b.count, plan, plan.b_rows(),
                       plan.b_parts());
  };
  const GemmArguments arguments{.a = a_map(),
                                .b = b_map(),
                                .d = map_strip(device, p, d.first, d.count, plan, plan.strip_columns()),
                                .d_last = map_strip(device, p, d.first, d.count, plan, plan.last_strip_columns()),
                                .a_at = address(a.first),
                                .b_at = address(b.first),
                                .d_at = address(d.first),
                                .c_at = address(c.first),
                                .row_scale = p.row_scale.address,
                                .column_scale = p.column_scale.address,
                                .row_bias = p.row_bias.address,
                                .column_bias = p.column_bias.address,
                                .amax = p.amax.address,
                                .d_scale = p.d_scale.address,
                                .row_scale_stride = p.row_scale.stride,
                                .column_scale_stride = p.column_scale.stride,
                                .alpha = 1,
                                .beta = 0,
                                .m = static_cast<unsigned>(p.m),
                                .n = static_cast<unsigned>(p.n),
                                .k = static_cast<unsigned>(p.k),
                                .a_policy = policy(a_streams, b_streams),
                                .b_policy = policy(b_streams, a_streams),
                                .a_early = early.a,
                                .b_early = early.b,
                                .a_ahead = a_streams ? ahead : 0,
                                .b_ahead = b_streams ? ahead : 0,
                                .partials = 0,
                                .sums = 0,
                                .a_scales = p.a_scales.address,
                                .b_scales = p.b_scales.address,
                                .a_scale_blocks = p.a_scales.blocks,
                                .b_scale_blocks = p.b_scales.blocks,
                                .work = work};

  const LaunchConfig config{.grid = {blocks},
                            .block = {static_cast<std::uint32_t>(plan.threads())},
                            .cluster = {static_cast<std::uint32_t>(plan.cluster_size())},
                            .shared_bytes = static_cast<std::uint32_t>(plan.shared_bytes()),
                            .programmatic_dependent = plan.facts().copy_engine};
  const bool shares = plan.split && work.shared_tiles > 0;
  std::unique_ptr<ScaleMaps> scale_maps;
  if (plan.scales_by_map())
    scale_maps = std::make_unique<ScaleMaps>(ScaleMaps{map_scales(device, p.a_scales, p.m, plan.tile.m, plan),
                                                       map_scales(device, p.b_scales, p.n, plan.tile.n, plan)});
  const std::size_t sum_bytes = shares ? std::size_t(blocks) * plan.partial_bytes() : 0;
  if (!plan.spread) return {config, arguments, std::move(numbers), std::move(scale_maps), sum_bytes, 0};
  const std::size_t state_bytes = std::size_t(work.shared_tiles) * plan.spread_state_bytes();
  return {config, arguments, std::move(numbers), std::move(scale_maps), state_bytes, sum_bytes};
}

}  // namespace

std::vector<PreparedLaunch> prepare_launches(const Device& device, const GemmProblem& problem, const GemmPlan& plan,
                                             EarlyOperands early) {
  const GemmProblem p = plan.exchange ? problem.transposed() : problem;
  if (plan.exchange) std::swap(early.a, early.b);
  const auto batch = static_cast<std::size_t>(p.batch);
  std::vector<PreparedLaunch> launches;
  for (std::size_t begin = 0, products = 0; begin < batch; begin += products) {
    products = products_of_launch(p, begin);
    const plan::GemmShape shape{problem.m, problem.n, problem.k, static_cast<std::int64_t>(products)};
    const plan::GemmSchedule schedule = plan::schedule_of(plan, shape, plan::rates_of(device.info()));
    launches.push_back(prepare_launch(device, p, plan, schedule.work, begin, products, early));
  }
  return launches;
}

}  // namespace wm::ops
