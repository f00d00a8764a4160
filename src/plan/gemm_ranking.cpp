// The ranking of GEMM plans: waves, bytes through L2, tensor-core time and what surrounds them, in plain arithmetic.
#include "plan/gemm_ranking.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace wm::plan {
namespace {

std::int64_t ceil_divide(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// Tile rows walked together: the square-ish block of tiles in flight touches the fewest rows of A and columns of B.
std::uint32_t best_band(const GemmPlan& plan, std::int64_t rows, int clusters) {
  const double row_bytes = plan.tile.m * plan.cluster.m, column_bytes = plan.tile.n * plan.cluster.n;
  std::uint32_t best = 1;
  double least = INFINITY;
  for (std::uint32_t band = 1; band <= 64 && band <= rows; ++band) {
    const double footprint = band * row_bytes + std::ceil(double(clusters) / band) * column_bytes;
    if (footprint < least) {
      least = footprint;
      best = band;
    }
  }
  return best;
}

// The tiles that clusters share along k: all of them where there are fewer than clusters, else the last wave's and one
// wave more, so that everybody has as much to do.
WorkSchedule schedule(const GemmPlan& plan, const TileSchedule& tiles, std::int64_t count, std::int64_t steps,
                      int resident) {
  const auto whole = static_cast<unsigned>(std::clamp<std::int64_t>(count, 1, resident));
  // Steps of shared tiles are counted through all of them, in 32 bits.
  const std::int64_t shared = count < resident ? count : count % resident + resident;
  if (!plan.split || count % resident == 0 || count > most_tiles ||
      shared * steps > std::numeric_limits<std::int32_t>::max())
    return WorkSchedule::make(tiles, static_cast<unsigned>(steps), whole, 0);
  if (count < resident) {
    constexpr std::int64_t fewest_steps = 4;  // that are worth a block's start
    const std::int64_t wanted = plan.pieces > 0 ? count * plan.pieces : resident;
    const std::int64_t clusters =
        std::clamp<std::int64_t>(std::min(wanted, count * steps / fewest_steps), count, resident);
    return WorkSchedule::make(tiles, static_cast<unsigned>(steps), static_cast<unsigned>(clusters),
                              clusters > count ? static_cast<unsigned>(count) : 0);
  }
  return WorkSchedule::make(tiles, static_cast<unsigned>(steps), whole, static_cast<unsigned>(shared));
}

// The part of the tensor cores' speed that mma reaches: shared memory gives 128 bytes a cycle, ldmatrix takes 512, and
// a product of 16 x 8 x 32 bytes takes 2 cycles of a multiprocessor. A warp reads its rows of A and all of B.
double mma_share(const GemmPlan& plan) {
  const double rows = plan.group_rows() / 64, columns = plan.tile.n / 16.0;
  return 0.9 * std::min(1.0, 2 * rows * 2 * columns / (4 * (rows + columns)));
}

// The plans for mma.sync: a block of one group shares its multiprocessor with another where three stages leave room.
std::vector<GemmPlan> mma_plans(const GemmKind& kind) {
  std::vector<GemmPlan> plans;
  const auto add = [&](TileShape tile, int groups, bool split, bool exchange) {
    GemmPlan plan{.kind = exchange ? kind.transposed() : kind,
                  .instruction = TensorInstruction::mma,
                  .pipelining = Pipelining::multistage,
                  .tile = tile,
                  .cluster = {1, 1},
                  .multiply_groups = groups,
                  .split = split,
                  .exchange = exchange};
    plan = plan.with_most_stages(groups == 1 ? 3 : 4);
    if (plan.valid()) plans.push_back(plan);
  };
  for (const bool split : {false, true}) {
    for (const TileShape tile : {TileShape{256, 128}, {256, 64}, {128, 128}}) add(tile, 2, split, false);
    for (const TileShape tile : {TileShape{128, 64}, {64, 128}, {64, 64}, {64, 32}}) add(tile, 1, split, false);
  }
  for (const int n : {16, 32, 64}) add({64, n}, 1, true, true);
  return plans;
}

}  // namespace

TensorInstruction instruction_of(const Architecture& arch) {
  return arch.major == 9 && arch.specific ? TensorInstruction::wgmma : TensorInstruction::mma;
}

ChipRates hopper_rates(int multiprocessors) {
  ChipRates rates;
  const double part = double(multiprocessors) / rates.multiprocessors;
  rates.multiprocessors = multiprocessors;
  rates.tensor_flops *= part;
  rates.l2_bytes *= part;
  return rates;
}

ChipRates rates_of(const DeviceInfo& device) {
  ChipRates rates = hopper_rates(device.multiprocessors);
  rates.instruction = instruction_of(device.arch);
  rates.shared_bytes = device.shared_bytes_per_multiprocessor;
  if (rates.instruction == TensorInstruction::wgmma) return rates;
  rates.tensor_flops = 312e12 * device.multiprocessors / 108;
  rates.memory_bytes = 1.6e12;
  rates.l2_bytes = 5e12 * device.multiprocessors / 108;
  rates.launch_seconds = 4e-6;
  return rates;
}

int resident_clusters(const GemmPlan& plan, const ChipRates& rates) {
  const int size = plan.cluster_size();
  if (!plan.wgmma()) {
    const auto fit = static_cast<int>(rates.shared_bytes / (static_cast<std::size_t>(plan.shared_bytes()) + 1024));
    return rates.multiprocessors * std::clamp(fit, 1, plan.blocks_each());
  }
  // GPCs of an H200 hold 16 or 18 multiprocessors: clusters of 4 reach 120 of 132.
  return std::max(1, size <= 2 ? rates.multiprocessors / size : rates.multiprocessors * 10 / 11 / size);
}

GemmEstimate estimate(const GemmPlan& plan, const GemmShape& asked, const ChipRates& rates) {
  GemmEstimate e;
  e.plan = plan;
  const GemmShape shape = plan.exchange ? GemmShape{asked.n, asked.m, asked.k, asked.batch} : asked;
  const std::int64_t rows = ceil_divide(shape.m, std::int64_t(plan.tile.m) * plan.cluster.m);
  const std::int64_t columns = ceil_divide(shape.n, std::int64_t(plan.tile.n) * plan.cluster.n);
  const int resident = resident_clusters(plan, rates);
  // Steps of a block. Blocks that share a tile have equal parts: what lies beyond k is zero.
  const std::int64_t steps =
      std::max<std::int64_t>(1, ceil_divide(shape.k, std::int64_t(plan.tile_k()) * plan.cluster.k));
  const std::int64_t band = plan.band > 0 ? std::min<std::int64_t>(plan.band, rows) : best_band(plan, rows, resident);
  const TileSchedule tiles{static_cast<unsigned>(rows), static_cast<unsigned>(columns), static_cast<unsigned>(band),
                           static_cast<unsigned>(shape.batch)};
  e.tiles = rows * columns * shape.batch;
  e.work = schedule(plan, tiles, e.tiles, steps * plan.cluster.k, resident);
  const bool shares = e.work.shared_tiles > 0;
  e.waves = shares ? double(e.tiles) / e.work.clusters : double(ceil_divide(e.tiles, e.work.clusters));

  const double element = plan.kind.operand_bytes();
  const double tensor_rate = rates.tensor_flops * 2 / element;
  const double step_flops = 2.0 * plan.tile.m * plan.tile.n * plan.tile_k();
  // wgmma reads A and B from shared memory: narrow tiles wait for A, so they reach a smaller part of the peak.
  const double operand_share = plan.wgmma() ? double(plan.tile.n) / (plan.tile.n + 16.0) : mma_share(plan);
  // Groups that take turns keep the tensor cores fed a little better than groups that wait for the same stages.
  const double turns = plan.pipelining == Pipelining::pingpong ? 0.97 : 1;
  const int blocks = plan.wgmma() ? rates.multiprocessors : resident;  // that have the chip among them
  const double tensor = turns * step_flops / (tensor_rate * operand_share / blocks);
  // A row of A or B that does not start at a 128-byte line makes every 128-byte piece of it touch two.
  const double lines = shape.k * plan.kind.operand_bytes() % 128 == 0 ? 1 : 1.4;
  const double l2_bytes = lines * (double(plan.a_bytes()) / plan.cluster.n + double(plan.b_bytes()) / plan.cluster.m);
  const double l2 = l2_bytes / (rates.l2_bytes / blocks);
  // Moving bytes draws power that the tensor cores' clock then lacks: multicast pays even where L2 is not the limit.
  e.step_seconds = std::max(tensor, l2) + 0.05 * l2;

  const double strips = double(plan.group_rows()) / 64 * plan.strips();
  // Ping-pong stores one tile under the products of the next.
  const double store = plan.pipelining == Pipelining::pingpong ? 0.1e-6 * strips : 0.4e-6 + 0.25e-6 * strips;
  e.tile_seconds = store;
  if (shares) {  // each of a tile's other pieces is asked for in turn
    const double pieces = std::ceil(double(e.work.clusters) / double(e.work.shared_tiles));
    e.share_seconds = 0.5e-6 + std::max(1.0, pieces - 1) * (0.7e-6 + plan.partial_bytes() / 40e9);
  }
  if (plan.cluster.k > 1) e.share_seconds = 0.3e-6 + plan.cluster_sum_bytes() / 40e9;
  const double d_bytes = plan.d_bytes();
  e.memory_seconds = double(shape.batch) *
                     (element * (double(shape.m) * shape.k + double(shape.n) * shape.k) + d_bytes * shape.m * shape.n) /
                     rates.memory_bytes;
  // Filling the first ring, and where there are clusters, their start and the barriers at both ends.
  const double start = rates.launch_seconds + 1e-6 + (plan.cluster_size() > 1 ? 0.5e-6 : 0);
  // Memory is shared by all; multiprocessors that have nothing to do leave a part of its rate unused.
  const double idle =
      std::max(e.waves * resident / double(std::max<std::int64_t>(e.tiles, 1)), double(resident) / e.work.clusters) - 1;
  const double balance = 1 + 0.5 * std::max(0.0, idle);
  const double work = e.waves * double(steps) * e.step_seconds + std::ceil(e.waves) * e.tile_seconds + e.share_seconds;
  const double memory = e.memory_seconds * balance + e.share_seconds;
  // What is hidden under the other costs a little all the same, and decides between equals.
  e.seconds = start + std::max(memory, work) + 0.03 * std::min(memory, work);
  return e;
}

std::vector<GemmPlan> candidate_plans(const GemmKind& kind, TensorInstruction instruction) {
  if (instruction == TensorInstruction::mma) return mma_plans(kind.without_tma());
  std::vector<GemmPlan> plans;
  const auto add = [&](GemmPlan plan) {
    plan.kind = plan.exchange ? kind.transposed() : kind;
    plan = plan.with_most_stages();
    if (plan.valid() && plan.has_room()) plans.push_back(plan);
  };
  for (const ClusterShape cluster : {ClusterShape{2, 1}, ClusterShape{1, 2}, ClusterShape{1, 1}}) {
    for (const int n : {256, 240, 224, 208, 192, 176, 160, 144, 128, 112, 96, 64, 32})
      add({.tile = {128, n}, .cluster = cluster});
    for (const int n : {128, 112, 96, 64}) add({.tile = {256, n}, .cluster = cluster});
    add({.tile = {192, 176}, .cluster = cluster, .multiply_groups = 3});
    for (const int n : {192, 176, 160, 128, 96, 64})
      add({.pipelining = Pipelining::pingpong, .tile = {128, n}, .cluster = cluster});
    add({.pipelining = Pipelining::pingpong, .tile = {64, 128}, .cluster = cluster});
  }
  // Few rows: one group with 64 of them; or A and B change places, so that the tile's rows lie along n. Where there are
  // fewer tiles than multiprocessors, they share them along k.
  for (const int n : {224, 112, 64, 32, 16}) {
    add({.tile = {64, n}, .cluster = {2, 1}, .multiply_groups = 1});
    add({.tile = {64, n}, .cluster = {1, 1}, .multiply_groups = 1});
  }
  for (const bool exchange : {false, true})
    for (const int n : {16, 32, 64, 96, 112})
      add({.tile = {64, n}, .cluster = {1, 1, 2}, .multiply_groups = 1, .exchange = exchange});
  for (const int pieces : {0, 2}) {
    for (const bool exchange : {false, true})
      for (const int n : {16, 32, 64, 112})
        add({.tile = {64, n},
             .cluster = {1, 1},
             .multiply_groups = 1,
             .split = true,
             .pieces = pieces,
             .exchange = exchange});
    for (const int n : {64, 128}) add({.tile = {128, n}, .cluster = {1, 1}, .split = true, .pieces = pieces});
  }
  return plans;
}

std::vector<GemmEstimate> rank(const GemmKind& kind, const GemmShape& shape, const ChipRates& rates) {
  std::vector<GemmEstimate> ranking;
  for (const GemmPlan& plan : candidate_plans(kind, rates.instruction))
    if (static_cast<std::size_t>(plan.shared_bytes()) + 1024 <= rates.shared_bytes)
      if (GemmEstimate e = estimate(plan, shape, rates); e.tiles <= most_tiles) ranking.push_back(std::move(e));
  std::stable_sort(ranking.begin(), ranking.end(),
                   [](const GemmEstimate& a, const GemmEstimate& b) { return a.seconds < b.seconds; });
  return ranking;
}

}  // namespace wm::plan
