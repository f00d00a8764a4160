// Three things run side by side in a block: copies fill stages, the tensor cores multiply them, and the storing groups
// take the sums of the tile before out of tensor memory. The slowest of them sets the pace.
#include "plan/gemm_tensor_memory.hpp"

#include <algorithm>
#include <cmath>

namespace wm::plan {

double product_cycles(const GemmPlan& plan) {
  const double n = plan.tile.n;
  if (plan.pair) return std::max(n / 2, 43.0);  // M of 256
  if (plan.tile.m == 64) return std::max(n / 2, 25.0);
  return std::max(n / 2, 32 + n / 4);  // below N of 128 it waits for A from shared memory
}

std::vector<GemmPlan> tensor_memory_plans(const GemmKind& kind) {
  std::vector<GemmPlan> plans;
  const auto add = [&](GemmPlan plan) {
    plan.instruction = TensorInstruction::tcgen05;
    plan.kind = plan.exchange ? kind.transposed() : kind;
    plan = plan.with_most_stages();
    if (plan.valid() && plan.has_room() && plan.stages >= 3) plans.push_back(plan);
  };
  for (const int groups : {1, 2}) {
    for (const int n : {256, 224, 192, 160, 128})
      add({.tile = {128, n}, .cluster = {2, 1}, .multiply_groups = groups, .pair = true});
    for (const ClusterShape cluster : {ClusterShape{1, 1}, ClusterShape{2, 1}, ClusterShape{1, 2}})
      for (const int n : {256, 192, 128}) add({.tile = {128, n}, .cluster = cluster, .multiply_groups = groups});
  }
  for (const int n : {224, 160, 112, 96, 64, 32}) add({.tile = {128, n}, .cluster = {1, 1}, .multiply_groups = 1});
  // Few rows: a tile of 64, or A and B change places, so that the tile's rows lie along n.
  for (const int n : {128, 64, 32}) add({.tile = {64, n}, .cluster = {1, 1}, .multiply_groups = 1});
  for (const int n : {16, 32, 64, 128, 256})
    add({.tile = {128, n}, .cluster = {1, 1}, .multiply_groups = 1, .exchange = true});
  return plans;
}

GemmEstimate tensor_memory_estimate(const GemmPlan& plan, const GemmShape& asked, const ChipRates& rates) {
  GemmEstimate e;
  e.plan = plan;
  e.schedule = schedule_of(plan, asked, rates);
  const GemmShape shape = plan.exchange ? GemmShape{asked.n, asked.m, asked.k, asked.batch} : asked;
  const double clusters = std::min<double>(e.schedule.work.clusters, resident_clusters(plan, rates)),
               tiles = double(e.schedule.tiles), steps = double(e.schedule.steps);
  e.waves = std::ceil(tiles / clusters);

  constexpr double products_per_step = 4;  // of 32 bytes along k
  const double tensor = products_per_step * product_cycles(plan) / rates.clock;
  // What each block brings into its own stages: a multicast operand comes once for all that share it.
  const double bytes = double(plan.a_bytes()) / plan.cluster.n + double(plan.b_bytes()) / plan.b_shares();
  const double copies = bytes / (rates.l2_bytes / rates.multiprocessors);
  e.step_seconds = std::max(tensor, copies);
  // A storing group takes 64 rows of a strip in a quarter of a microsecond, as on an H200; there is no figure of a
  // B200.
  e.tile_seconds = (0.4e-6 + 0.25e-6 * plan.strips() * (plan.strip_rows() / 64)) / plan.multiply_groups;

  const double element = plan.kind.operand_bytes();
  e.memory_seconds =
      double(shape.batch) *
      (element * (double(shape.m) * shape.k + double(shape.n) * shape.k) + double(plan.d_bytes()) * shape.m * shape.n) /
      rates.memory_bytes;
  // Filling the first ring, the latency of the last products, the last tile's stores.
  const double start = rates.launch_seconds + 1e-6 + (plan.cluster_size() > 1 ? 0.5e-6 : 0);
  const double latency = (136 + plan.tile.n / 2.0) / rates.clock;
  const double multiplying = e.waves * steps * e.step_seconds, storing = e.waves * e.tile_seconds;
  const double work = std::max(multiplying, storing) + latency + e.tile_seconds;
  e.binds = e.memory_seconds > work ? "memory"
            : storing > multiplying ? "stores"
            : copies > tensor       ? "copies"
                                    : "products";
  e.seconds = start + std::max(e.memory_seconds, work) + 0.03 * std::min(e.memory_seconds, work);
  return e;
}

}  // namespace wm::plan
