// The ranking of GEMM plans: waves, bytes through L2, tensor-core time and what surrounds them, in plain arithmetic.
#include "plan/gemm_ranking.hpp"

#include <algorithm>
#include <cmath>

#include "plan/gemm_tensor_memory.hpp"

namespace wm::plan {
namespace {

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

GemmEstimate estimate(const GemmPlan& plan, const GemmShape& asked, const ChipRates& rates) {
  if (plan.facts().tensor_memory) return tensor_memory_estimate(plan, asked, rates);
  GemmEstimate e;
  e.plan = plan;
  e.schedule = schedule_of(plan, asked, rates);
  const GemmShape shape = plan.exchange ? GemmShape{asked.n, asked.m, asked.k, asked.batch} : asked;
  const WorkSchedule& work_schedule = e.schedule.work;
  const int resident = resident_clusters(plan, rates);
  const bool shares = e.schedule.shares();
  const double clusters = work_schedule.clusters, tiles = double(e.schedule.tiles);
  e.waves = shares ? tiles / clusters : std::ceil(tiles / clusters);

  const double element = plan.kind.operand_bytes();
  const double tensor_rate = rates.tensor_flops * 2 / element;
  const double step_flops = 2.0 * plan.tile.m * plan.tile.n * plan.tile_k();
  // wgmma reads A and B from shared memory: narrow tiles wait for A, so they reach a smaller part of the peak.
  const double operand_share = plan.facts().reads_shared ? double(plan.tile.n) / (plan.tile.n + 16.0) : mma_share(plan);
  // Groups that take turns keep the tensor cores fed a little better than groups that wait for the same stages.
  const double turns = plan.pipelining == Pipelining::pingpong ? 0.97 : 1;
  const int blocks = plan.facts().reads_shared ? rates.multiprocessors : resident;  // that have the chip among them
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
    const double pieces = std::ceil(clusters / double(work_schedule.shared_tiles));
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
  const double idle = std::max(e.waves * resident / std::max(tiles, 1.0), resident / clusters) - 1;
  const double balance = 1 + 0.5 * std::max(0.0, idle);
  const double work =
      e.waves * double(e.schedule.steps) * e.step_seconds + std::ceil(e.waves) * e.tile_seconds + e.share_seconds;
  const double memory = e.memory_seconds * balance + e.share_seconds;
  // What is hidden under the other costs a little all the same, and decides between equals.
  e.seconds = start + std::max(memory, work) + 0.03 * std::min(memory, work);
  return e;
}

std::vector<GemmPlan> candidate_plans(const GemmKind& kind, TensorInstruction instruction) {
  if (instruction == TensorInstruction::mma) return mma_plans(kind.without_tma());
  if (instruction == TensorInstruction::tcgen05) return tensor_memory_plans(kind);
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
      if (GemmEstimate e = estimate(plan, shape, rates); e.schedule.tiles <= most_tiles)
        ranking.push_back(std::move(e));
  std::stable_sort(ranking.begin(), ranking.end(),
                   [](const GemmEstimate& a, const GemmEstimate& b) { return a.seconds < b.seconds; });
  return ranking;
}

}  // namespace wm::plan
