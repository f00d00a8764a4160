// The ranking of GEMM plans: waves, bytes through L2, tensor-core time and what surrounds them, in plain arithmetic.
#include "plan/gemm_ranking.hpp"

#include <algorithm>
#include <cmath>

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

}  // namespace

int resident_clusters(const GemmPlan& plan, int multiprocessors) {
  const int size = plan.cluster_size();
  // GPCs of an H200 hold 16 or 18 multiprocessors: clusters of 4 reach 120 of 132.
  return size <= 2 ? multiprocessors / size : multiprocessors * 10 / 11 / size;
}

GemmEstimate estimate(const GemmPlan& plan, const GemmShape& shape, const ChipRates& rates) {
  GemmEstimate e;
  e.plan = plan;
  const std::int64_t rows = ceil_divide(shape.m, std::int64_t(plan.tile.m) * plan.cluster.m);
  const std::int64_t columns = ceil_divide(shape.n, std::int64_t(plan.tile.n) * plan.cluster.n);
  e.tiles = rows * columns;
  e.clusters = std::max(1, resident_clusters(plan, rates.multiprocessors));
  e.waves = ceil_divide(e.tiles, e.clusters);
  e.schedule = {static_cast<unsigned>(rows), static_cast<unsigned>(columns), best_band(plan, rows, e.clusters)};

  const double steps = double(ceil_divide(shape.k, plan.tile.k));
  const double step_flops = 2.0 * plan.tile.m * plan.tile.n * plan.tile.k;
  // wgmma reads A and B from shared memory: narrow tiles wait for A, so they reach a smaller part of the peak.
  const double operand_share = double(plan.tile.n) / (plan.tile.n + 16.0);
  const double tensor = step_flops / (rates.tensor_flops * operand_share / rates.multiprocessors);
  // A row of A or B that does not start at a 128-byte line makes every 128-byte piece of it touch two; measured, it
  // costs more than twice.
  const double lines = shape.k % 64 == 0 ? 1 : 2.5;
  const double l2_bytes = lines * (double(plan.a_bytes()) / plan.cluster.n + double(plan.b_bytes()) / plan.cluster.m);
  const double l2 = l2_bytes / (rates.l2_bytes / rates.multiprocessors);
  // Moving bytes draws power that the tensor cores' clock then lacks: multicast pays even where L2 is not the limit.
  e.step_seconds = std::max(tensor, l2) + 0.05 * l2;

  const double strips = double(plan.group_rows()) / plan.strip_rows() * plan.tile.n / plan.strip_columns();
  e.tile_seconds = steps * e.step_seconds + 0.4e-6 + 0.25e-6 * strips;
  e.memory_seconds =
      2.0 * (double(shape.m) * shape.k + double(shape.n) * shape.k + double(shape.m) * shape.n) / rates.memory_bytes;
  // Filling the first ring, and where there are clusters, their start and the barriers at both ends.
  const double start = rates.launch_seconds + 1e-6 + (plan.cluster_size() > 1 ? 1e-6 : 0);
  e.seconds = start + std::max(e.memory_seconds, double(e.waves) * e.tile_seconds);
  return e;
}

std::vector<GemmPlan> candidate_plans() {
  std::vector<GemmPlan> plans;
  const auto add = [&](GemmPlan plan) {
    plan = plan.with_most_stages();
    if (plan.valid()) plans.push_back(plan);
  };
  for (const ClusterShape cluster : {ClusterShape{2, 1}, ClusterShape{1, 2}, ClusterShape{1, 1}}) {
    for (const int n : {256, 224, 208, 192, 176, 160, 128, 112, 96, 64, 32})
      add({.tile = {128, n, 64}, .cluster = cluster});
    for (const int n : {128, 112, 96, 64}) add({.tile = {256, n, 64}, .cluster = cluster});
  }
  return plans;
}

std::vector<GemmEstimate> rank(const GemmShape& shape, const ChipRates& rates) {
  std::vector<GemmEstimate> ranking;
  for (const GemmPlan& plan : candidate_plans()) ranking.push_back(estimate(plan, shape, rates));
  std::stable_sort(ranking.begin(), ranking.end(),
                   [](const GemmEstimate& a, const GemmEstimate& b) { return a.seconds < b.seconds; });
  return ranking;
}

}  // namespace wm::plan
