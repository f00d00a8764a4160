// Families of GEMM plans.
#include "plan/gemm_candidates.hpp"

#include <algorithm>
#include <optional>

#include "plan/gemm_tensor_memory.hpp"

namespace wm::plan {
namespace {

std::int64_t ceil_divide(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// Collects plans, for one shape or for any.
class Collector {
 public:
  Collector(const GemmKind& kind, const ChipRates& rates, std::optional<GemmShape> shape)
      : kind_(kind), rates_(rates), shape_(shape) {}

  void add(GemmPlan plan, int most_stages = 16) {
    plan.kind = plan.exchange ? kind_.transposed() : kind_;
    if (shape_ && !suits(plan, *shape_)) return;
    const GemmPlan narrow = narrowed(plan, shape_.value_or(GemmShape{1, 1, 1}));
    if (!shape_ || narrow == plan) add_if_valid(plan.with_most_stages(most_stages));
    if (narrow != plan) add_if_valid(narrow.with_most_stages(most_stages));
  }

  std::vector<GemmPlan> plans;

 private:
  void add_if_valid(const GemmPlan& plan) {
    if (plan.valid() && plan.has_room()) plans.push_back(plan);
  }
  bool suits(const GemmPlan& plan, const GemmShape& asked) const {
    if (plan.cluster_size() > rates_.multiprocessors) return false;
    const std::int64_t rows = plan.exchange ? asked.n : asked.m, columns = plan.exchange ? asked.m : asked.n;
    const auto tiles_of = [&](std::int64_t width) { return ceil_divide(columns, width); };
    constexpr int grain = 16;
    if (plan.tile.n > grain && tiles_of(plan.tile.n) == tiles_of(plan.tile.n - grain)) return false;
    if (plan.multicasts() &&
        (plan.cluster.m > ceil_divide(rows, plan.tile.m) || plan.cluster.n > tiles_of(plan.tile.n)))
      return false;
    const std::int64_t tiles = ceil_divide(rows, plan.tile.m) * tiles_of(plan.tile.n) * asked.batch;
    // More pieces than clusters are as many as these.
    if (plan.pieces > 0 && tiles * plan.pieces >= resident_clusters(plan, rates_)) return false;
    // What would share no tile is the same plan without split.
    if (plan.split && !schedule_of(plan, asked, rates_).shares()) return false;
    // Small tiles are shared to have more of them than multiprocessors; large ones also to even out a few waves.
    const std::int64_t most_blocks = (plan.scatters() ? 3 : 1) * rates_.multiprocessors;
    if (plan.cluster.k > 1 && tiles * (plan.cluster.k - 1) > most_blocks) return false;
    // Long products gain nothing by sharing operands among more than two blocks, and lose by the multiprocessors that
    // clusters of four and eight leave out: 3% to 19% on every one that was measured, in bf16 (docs/gemm.md). The trees
    // have seen too few of these to know.
    constexpr double long_product = 2e11;  // operations
    if (plan.multicasts() && plan.cluster_size() > 2 &&
        2.0 * double(asked.m) * double(asked.n) * double(asked.k) * double(asked.batch) >= long_product)
      return false;
    // Taller tiles for a few columns are for blocks that fill half the chip and more: fewer rows start sooner.
    if (plan.tile.n == grain && plan.tile.m > 64 &&
        2 * ceil_divide(rows, 64) * tiles_of(grain) * asked.batch <= rates_.multiprocessors)
      return false;
    // A few rows wait for memory, not for sums, and what was measured of them is older than these plans.
    const std::int64_t few_rows = plan.spread ? 128 : plan.multicasts() && plan.cluster.k > 1 ? 96 : 0;
    if (std::min(asked.m, asked.n) < few_rows) return false;
    // A GPC holds one cluster of more than 8, where it is whole, as most are on the largest Hopper.
    if (plan.cluster.k > 8 && (tiles > 4 || rates_.multiprocessors < 132)) return false;
    // Changing places matters for the grain of the few: many rows and columns are covered as well either way.
    constexpr std::int64_t few = 1536;
    return !plan.exchange || std::min(asked.m, asked.n) <= few;
  }

  const GemmKind& kind_;
  const ChipRates& rates_;
  std::optional<GemmShape> shape_;
};

GemmPlan spread(TileShape tile, ClusterShape cluster, bool exchange) {
  return {.tile = tile,
          .cluster = cluster,
          .multiply_groups = tile.m == 64 ? 1 : 2,
          .split = true,
          .spread = true,
          .exchange = exchange};
}

// Tiles of 128 rows that two blocks share along k: 4 bytes of a multiply thread, of 8-bit integers 38; of blocks that
// share operands too only where D's columns are contiguous.
bool spills_in_two(int columns, int parts) { return columns == 208 && parts == 2; }

// For wgmma. Rows and columns may change places (exchange), so that the finer grain of columns serves the few rows.
// What came within 3% of a shape's best in none of the measurements that the model is fitted to is left out.
void add_wgmma_plans(Collector& to) {
  // Blocks of a cluster share operands: the more, the fewer bytes L2 has to give, and the later they start.
  constexpr ClusterShape sharing[] = {{2, 1}, {1, 2}, {1, 1}, {4, 1}, {1, 4}, {2, 2}, {4, 2}, {2, 4}};
  constexpr ClusterShape sharing_both[] = {{2, 1, 2}, {2, 1, 3}, {2, 1, 4}, {1, 2, 2}, {1, 2, 3},
                                           {1, 2, 4}, {4, 1, 2}, {1, 4, 2}, {2, 2, 2}};
  for (const bool exchange : {false, true})
    for (int n = 256; n >= 16; n -= 16) {
      for (const ClusterShape cluster : sharing) {
        const int blocks = cluster.m * cluster.n;
        to.add({.tile = {64, n}, .cluster = cluster, .multiply_groups = 1, .exchange = exchange});
        // A few rows against many: a block each for as many as there are multiprocessors, or for half of them, so that
        // the next product's blocks find room before ours end.
        const bool few = n == 16 && exchange && cluster.n == 1;
        if (n >= 32 || few) to.add({.tile = {128, n}, .cluster = cluster, .exchange = exchange});
        if (few && blocks <= 2) {
          to.add({.tile = {192, n}, .cluster = cluster, .multiply_groups = 3, .exchange = exchange});
          to.add({.tile = {256, n}, .cluster = cluster, .exchange = exchange});
        }
        if (n >= 64 && n <= 160 && blocks <= 2) to.add({.tile = {256, n}, .cluster = cluster, .exchange = exchange});
        if (n >= 64 && n <= 192)
          to.add({.tile = {192, n}, .cluster = cluster, .multiply_groups = 3, .exchange = exchange});
        if (n >= 64 && n <= 192)
          to.add({.pipelining = Pipelining::pingpong, .tile = {128, n}, .cluster = cluster, .exchange = exchange});
        if (n >= 96)
          to.add({.pipelining = Pipelining::pingpong, .tile = {64, n}, .cluster = cluster, .exchange = exchange});
        // Clusters share tiles along k, through the workspace: as many each tile, which they finish together, or one of
        // them for all; in that case also all clusters evenly.
        if (n >= 64 && n <= 128) to.add(spread({64, n}, cluster, exchange));
        if (n >= 64) to.add(spread({128, n}, cluster, exchange));
        // 256x160 spills 4 bytes of a multiply thread.
        if (n >= 64 && n <= 144 && blocks <= 2) to.add(spread({256, n}, cluster, exchange));
        if (cluster.m == 1 && cluster.n > 1) continue;
        for (const int pieces : {0, 2, 3}) {
          if (pieces > 0 && blocks > 1) continue;
          GemmPlan plan{.cluster = cluster, .split = true, .pieces = pieces, .exchange = exchange};
          if (n <= 128) plan.tile = {64, n}, plan.multiply_groups = 1, to.add(plan);
          if (n >= 64) plan.tile = {128, n}, plan.multiply_groups = 2, to.add(plan);
        }
      }
      // Blocks of a cluster share a tile along k.
      for (const int parts : {2, 3, 4, 5, 6, 7, 8}) {
        to.add({.tile = {64, n}, .cluster = {1, 1, parts}, .multiply_groups = 1, .exchange = exchange});
        if (parts <= 6 && !spills_in_two(n, parts))
          to.add({.tile = {128, n}, .cluster = {1, 1, parts}, .exchange = exchange});
        if (n <= 176 && parts <= 4)
          to.add({.tile = {192, n}, .cluster = {1, 1, parts}, .multiply_groups = 3, .exchange = exchange});
      }
      // The same by blocks that share operands too; low tiles also with other clusters (of 128 rows that would spill).
      for (const ClusterShape cluster : sharing_both) {
        if (n >= 32 && !spills_in_two(n, cluster.k))
          to.add({.tile = {128, n}, .cluster = cluster, .exchange = exchange});
        for (const bool split : {false, true})
          if (n >= 32 && n <= 128)
            to.add({.tile = {64, n}, .cluster = cluster, .multiply_groups = 1, .split = split, .exchange = exchange});
      }
      // For a few tiles and a long k there may be more than a portable cluster has.
      for (const int parts : {12, 16})
        if (n <= 64) to.add({.tile = {64, n}, .cluster = {1, 1, parts}, .multiply_groups = 1, .exchange = exchange});
      // Or several clusters: what the blocks of each have added up meets in the workspace, where a thread asks for the
      // sums of four others at once (of 64x32, of two).
      for (const int parts : {8, 16})
        for (const int pieces : {0, 5})
          if (n <= 32)
            to.add({.tile = {64, n},
                    .cluster = {1, 1, parts},
                    .multiply_groups = 1,
                    .split = true,
                    .pieces = pieces,
                    .exchange = exchange});
    }
}

// For mma.sync: a block of one group shares its multiprocessor with another where three stages leave room.
void add_mma_plans(Collector& to) {
  const auto add = [&](TileShape tile, int groups, bool split, bool exchange) {
    to.add({.instruction = TensorInstruction::mma,
            .pipelining = Pipelining::multistage,
            .tile = tile,
            .cluster = {1, 1},
            .multiply_groups = groups,
            .split = split,
            .exchange = exchange},
           groups == 1 ? 3 : 4);
  };
  for (const bool split : {false, true}) {
    for (const TileShape tile : {TileShape{256, 128}, {256, 64}, {128, 128}}) add(tile, 2, split, false);
    for (const TileShape tile : {TileShape{128, 64}, {64, 128}, {64, 64}, {64, 32}}) add(tile, 1, split, false);
  }
  for (const int n : {16, 32, 64}) add({64, n}, 1, true, true);
}

// For mma.sync with a copy engine: the stages of a large tile are few, and a group's warps read fewer bytes for each
// product the more rows they have.
void add_mma_tma_plans(Collector& to) {
  const auto add = [&](TileShape tile, int groups, bool split, bool exchange) {
    to.add({.instruction = TensorInstruction::mma_tma,
            .tile = tile,
            .cluster = {1, 1},
            .multiply_groups = groups,
            .split = split,
            .exchange = exchange},
           6);
  };
  for (const bool split : {false, true}) {
    for (const TileShape tile : {TileShape{128, 128}, {256, 64}, {128, 96}, {128, 64}}) add(tile, 2, split, false);
    for (const TileShape tile : {TileShape{128, 128}, {128, 64}, {64, 128}, {64, 64}, {64, 32}})
      add(tile, 1, split, false);
  }
  for (const int n : {16, 32, 64}) add({64, n}, 1, true, true);
}

std::vector<GemmPlan> candidates(const GemmKind& kind, const ChipRates& rates, const std::optional<GemmShape>& shape) {
  if (rates.instruction == TensorInstruction::tcgen05) return tensor_memory_plans(kind);
  const bool mma = rates.instruction == TensorInstruction::mma;
  const GemmKind by_producer = mma ? kind.without_tma() : kind;
  const bool many = rates.instruction == TensorInstruction::wgmma;  // so many that shapes have theirs
  Collector plans(by_producer, rates, many ? shape : std::nullopt);
  switch (rates.instruction) {
    case TensorInstruction::mma: add_mma_plans(plans); break;
    case TensorInstruction::mma_tma: add_mma_tma_plans(plans); break;
    default: add_wgmma_plans(plans);
  }
  return std::move(plans.plans);
}

}  // namespace

GemmPlan narrowed(const GemmPlan& plan, const GemmShape& shape) {
  GemmPlan narrow = plan;
  narrow.tile.n = GemmPlan::fewest_columns;
  const bool fits = (plan.exchange ? shape.m : shape.n) <= GemmPlan::fewest_columns;
  return fits && plan.tile.n == 16 && !narrow.column_problem() ? narrow : plan;
}

std::vector<GemmPlan> candidate_plans(const GemmKind& kind, TensorInstruction instruction) {
  return candidates(kind, {.instruction = instruction}, std::nullopt);
}

std::vector<GemmPlan> candidate_plans(const GemmKind& kind, const GemmShape& shape, const ChipRates& rates) {
  return candidates(kind, rates, shape);
}

}  // namespace wm::plan
