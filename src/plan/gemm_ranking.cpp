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
WorkSchedule schedule(const GemmPlan& plan, const TileSchedule& tiles, std::int64_t steps, int resident) {
  const std::int64_t count = tiles.count();
  const auto whole = static_cast<unsigned>(std::min<std::int64_t>(resident, count));
  if (!plan.split || count % resident == 0)
    return WorkSchedule::make(tiles, static_cast<unsigned>(steps), whole, 0);
  if (count < resident) {
    constexpr std::int64_t fewest_steps = 4;  // that are worth a block's start
    const std::int64_t wanted = plan.pieces > 0 ? count * plan.pieces : resident;
    const std::int64_t clusters =
        std::clamp<std::int64_t>(std::min(wanted, count * steps / fewest_steps), count, resident);
    return WorkSchedule::make(tiles, static_cast<unsigned>(steps), static_cast<unsigned>(clusters),
                              clusters > count ? static_cast<unsigned>(count) : 0);
  }
  const std::int64_t shared = count % resident + resident;
  const bool countable = shared * steps <= std::numeric_limits<std::int32_t>::max();
  return WorkSchedule::make(tiles, static_cast<unsigned>(steps), whole, countable ? static_cast<unsigned>(shared) : 0);
}

}  // namespace

int resident_clusters(const GemmPlan& plan, int multiprocessors) {
  const int size = plan.cluster_size();
  // GPCs of an H200 hold 16 or 18 multiprocessors: clusters of 4 reach 120 of 132.
  return std::max(1, size <= 2 ? multiprocessors / size : multiprocessors * 10 / 11 / size);
}

GemmEstimate estimate(const GemmPlan& plan, const GemmShape& asked, const ChipRates& rates) {
  GemmEstimate e;
  e.plan = plan;
  const GemmShape shape = plan.exchange ? GemmShape{asked.n, asked.m, asked.k, asked.batch} : asked;
  const std::int64_t rows = ceil_divide(shape.m, std::int64_t(plan.tile.m) * plan.cluster.m);
  const std::int64_t columns = ceil_divide(shape.n, std::int64_t(plan.tile.n) * plan.cluster.n);
  const int resident = resident_clusters(plan, rates.multiprocessors);
  const std::int64_t steps = std::max<std::int64_t>(1, ceil_divide(shape.k, plan.tile_k()));
  const TileSchedule tiles{static_cast<unsigned>(rows), static_cast<unsigned>(columns), best_band(plan, rows, resident),
                           static_cast<unsigned>(shape.batch)};
  e.tiles = rows * columns * shape.batch;
  e.work = schedule(plan, tiles, steps, resident);
  const bool shares = e.work.shared_tiles > 0;
  e.waves = shares ? double(e.tiles) / e.work.clusters : double(ceil_divide(e.tiles, e.work.clusters));

  const double element = plan.kind.operand_bytes();
  const double tensor_rate = rates.tensor_flops * 2 / element;
  const double step_flops = 2.0 * plan.tile.m * plan.tile.n * plan.tile_k();
  // wgmma reads A and B from shared memory: narrow tiles wait for A, so they reach a smaller part of the peak.
  const double operand_share = double(plan.tile.n) / (plan.tile.n + 16.0);
  const double tensor = step_flops / (tensor_rate * operand_share / rates.multiprocessors);
  // A row of A or B that does not start at a 128-byte line makes every 128-byte piece of it touch two; measured, it
  // costs more than twice.
  const double lines = shape.k * plan.kind.operand_bytes() % 128 == 0 ? 1 : 2.5;
  const double l2_bytes = lines * (double(plan.a_bytes()) / plan.cluster.n + double(plan.b_bytes()) / plan.cluster.m);
  const double l2 = l2_bytes / (rates.l2_bytes / rates.multiprocessors);
  // Moving bytes draws power that the tensor cores' clock then lacks: multicast pays even where L2 is not the limit.
  e.step_seconds = std::max(tensor, l2) + 0.05 * l2;

  const double strips = double(plan.group_rows()) / 64 * plan.strips();
  // Ping-pong stores one tile under the products of the next.
  const double store = plan.pipelining == Pipelining::pingpong ? 0.1e-6 * strips : 0.4e-6 + 0.25e-6 * strips;
  e.tile_seconds = store;
  if (shares) e.share_seconds = 1.5e-6 + 2.0 * plan.partial_bytes() / (rates.l2_bytes / rates.multiprocessors / 2);
  const double d_bytes = plan.d_bytes();
  e.memory_seconds = double(shape.batch) *
                     (element * (double(shape.m) * shape.k + double(shape.n) * shape.k) + d_bytes * shape.m * shape.n) /
                     rates.memory_bytes;
  // Filling the first ring, and where there are clusters, their start and the barriers at both ends.
  const double start = rates.launch_seconds + 1e-6 + (plan.cluster_size() > 1 ? 1e-6 : 0);
  // Memory is shared by all; a block that has nothing to do leaves its part of the traffic unasked for.
  const double balance = e.waves * e.work.clusters / double(e.tiles);
  const double work = e.waves * double(steps) * e.step_seconds + std::ceil(e.waves) * e.tile_seconds + e.share_seconds;
  e.seconds = start + std::max(e.memory_seconds * balance + e.share_seconds, work);
  return e;
}

std::vector<GemmPlan> candidate_plans(const GemmKind& kind) {
  std::vector<GemmPlan> plans;
  const auto add = [&](GemmPlan plan) {
    plan.kind = plan.exchange ? kind.transposed() : kind;
    plan = plan.with_most_stages();
    if (plan.valid()) plans.push_back(plan);
  };
  for (const ClusterShape cluster : {ClusterShape{2, 1}, ClusterShape{1, 2}, ClusterShape{1, 1}}) {
    for (const int n : {256, 240, 224, 208, 192, 176, 160, 144, 128, 112, 96, 64, 32})
      add({.tile = {128, n}, .cluster = cluster});
    for (const int n : {128, 112, 96, 64}) add({.tile = {256, n}, .cluster = cluster});
    for (const int n : {256, 192, 128}) add({.pipelining = Pipelining::pingpong, .tile = {64, n}, .cluster = cluster});
    add({.pipelining = Pipelining::pingpong, .tile = {128, 128}, .cluster = cluster});
  }
  // Tiles shared along k.
  for (const int n : {256, 224, 192, 128, 64}) add({.tile = {128, n}, .cluster = {1, 1}, .split = true});
  add({.tile = {128, 256}, .cluster = {2, 1}, .split = true});
  // Few rows: A and B change places, so that the tile's 64 or 128 rows lie along n.
  for (const int n : {16, 32, 48, 64, 96, 128, 192, 256}) {
    add({.tile = {64, n}, .cluster = {1, 1}, .multiply_groups = 1, .split = true, .exchange = true});
    add({.tile = {128, n}, .cluster = {1, 1}, .split = true, .exchange = true});
  }
  return plans;
}

std::vector<GemmEstimate> rank(const GemmKind& kind, const GemmShape& shape, const ChipRates& rates) {
  std::vector<GemmEstimate> ranking;
  for (const GemmPlan& plan : candidate_plans(kind)) ranking.push_back(estimate(plan, shape, rates));
  std::stable_sort(ranking.begin(), ranking.end(),
                   [](const GemmEstimate& a, const GemmEstimate& b) { return a.seconds < b.seconds; });
  return ranking;
}

}  // namespace wm::plan
