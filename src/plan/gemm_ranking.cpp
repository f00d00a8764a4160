// The ranking of GEMM plans: waves, bytes through L2, tensor-core time and what surrounds them, in plain arithmetic.
#include "plan/gemm_ranking.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "plan/gemm_candidates.hpp"
#include "plan/gemm_tensor_memory.hpp"

namespace wm::plan {
namespace {

// The part of the tensor cores' speed that mma reaches: shared memory gives 128 bytes a cycle, ldmatrix takes 512, and
// a product of 16 x 8 x 32 bytes takes 2 cycles of a multiprocessor. A warp reads its rows of A and all of B.
double mma_share(const GemmPlan& plan) {
  const double rows = plan.group_rows() / 64, columns = plan.tile.n / 16.0;
  return 0.9 * std::min(1.0, 2 * rows * 2 * columns / (4 * (rows + columns)));
}

// What both arithmetics begin with.
GemmEstimate cut(const GemmPlan& plan, const GemmShape& asked, const ChipRates& rates) {
  GemmEstimate e;
  e.plan = plan;
  e.schedule = schedule_of(plan, asked, rates);
  const double clusters = e.schedule.work.clusters, tiles = double(e.schedule.tiles);
  e.waves = e.schedule.shares() ? tiles / clusters : std::ceil(tiles / clusters);
  const GemmKind& kind = plan.kind;
  e.memory_seconds = double(asked.batch) *
                     (kind.operand_bytes() * (double(asked.m) + double(asked.n)) * double(asked.k) +
                      plan.d_bytes() * double(asked.m) * double(asked.n)) /
                     rates.memory_bytes;
  return e;
}

// mma.sync, from data sheets and reason.
GemmEstimate mma_estimate(const GemmPlan& plan, const GemmShape& asked, const ChipRates& rates) {
  GemmEstimate e = cut(plan, asked, rates);
  const int blocks = resident_clusters(plan, rates);
  const double clusters = e.schedule.work.clusters, tiles = double(e.schedule.tiles);
  const double tensor_rate = rates.tensor_flops * 2 / plan.kind.operand_bytes() * mma_share(plan);
  const double tensor = 2.0 * plan.tile.m * plan.tile.n * plan.tile_k() / (tensor_rate / blocks);
  // A row of A or B that does not start at a 128-byte line makes every 128-byte piece of it touch two.
  const double lines = asked.k * plan.kind.operand_bytes() % 128 == 0 ? 1 : 1.4;
  const double l2 = lines * (double(plan.a_bytes()) + double(plan.b_bytes())) / (rates.l2_bytes / blocks);
  // A stage that the copy engine is asked for comes a microsecond later, and all others may be read meanwhile.
  const double latency = plan.facts().copy_engine ? 1e-6 / (plan.stages - 1) : 0;
  e.step_seconds = std::max({tensor, l2, latency}) + 0.05 * l2;
  e.tile_seconds = 0.4e-6 + 0.25e-6 * plan.group_rows() / 64 * plan.strips();
  if (e.schedule.shares()) {  // as if each of a tile's other pieces were asked for in turn
    const double pieces = std::ceil(clusters / double(e.schedule.work.shared_tiles));
    e.share_seconds = 0.5e-6 + std::max(1.0, pieces - 1) * (0.7e-6 + plan.partial_bytes() / 40e9);
  }
  // Memory is shared by all; multiprocessors that have nothing to do leave a part of its rate unused.
  const double idle = std::max(e.waves * blocks / std::max(tiles, 1.0), blocks / clusters) - 1;
  const double work =
      e.waves * double(e.schedule.steps) * e.step_seconds + std::ceil(e.waves) * e.tile_seconds + e.share_seconds;
  const double memory = e.memory_seconds * (1 + 0.5 * std::max(0.0, idle)) + e.share_seconds;
  e.seconds = rates.launch_seconds + 1e-6 + std::max(memory, work) + 0.03 * std::min(memory, work);
  return e;
}

double both(double a, double b, double exponent) {
  return std::pow(std::pow(a, exponent) + std::pow(b, exponent), 1 / exponent);
}

// Of a way of pipelining, over what its products take.
double pipelining_factor(const GemmPlan& plan, const GemmModel& model) {
  if (plan.pipelining == Pipelining::pingpong) return plan.tile.m == 64 ? model.turns_of_64 : model.turns_of_128;
  if (plan.multiply_groups == 1) return model.one_group;
  if (plan.multiply_groups == 3) return model.three_groups;
  return plan.group_rows() == 64 ? model.two_groups : model.two_tall_groups;
}

// Bytes that a block gets of the sums of a tile it shares along k with its cluster.
double sums_received(const GemmPlan& plan) {
  const double tile = 4.0 * plan.tile.m * plan.tile.n, others = plan.cluster.k - 1;
  return tile * others * (plan.scatters() ? double(plan.written_columns()) / plan.tile.n : 1);
}

GemmEstimate wgmma_estimate(const GemmPlan& plan, const GemmShape& asked, const ChipRates& rates) {
  const GemmModel& model = GemmModels::of(rates.gemm, plan.kind.operand_bytes() * 8);
  GemmEstimate e = cut(plan, asked, rates);
  const double rows = double(plan.exchange ? asked.n : asked.m), columns = double(plan.exchange ? asked.m : asked.n);
  const double clusters = e.schedule.work.clusters, tiles = double(e.schedule.tiles);
  const double steps = double(e.schedule.steps), blocks = clusters * plan.cluster_size();
  const bool turns = plan.pipelining == Pipelining::pingpong;
  const double part = rates.multiprocessors / 132.0;  // of an H200, whose rates the model has

  constexpr double clocks_per_us = 1755, products = 4;  // of wgmma along k in a step, whatever the type
  const double product = std::max(plan.tile.n / 2.0, model.operand_clocks + model.column_clocks * plan.tile.n);
  double tensor = plan.tile.m / 64.0 * products * product * pipelining_factor(plan, model) / clocks_per_us;
  if (plan.kind.promote) tensor += promotion_clocks(plan) / clocks_per_us;

  const double lines = asked.k * plan.kind.operand_bytes() % 128 == 0 ? 1 : model.split_lines;
  const double stage_bytes =
      lines * (double(plan.a_bytes()) / plan.cluster.n + double(plan.b_bytes()) / plan.cluster.m);
  const double in_flight = (plan.stages - 1) * double(plan.stage_bytes());
  const double feed =
      both(stage_bytes * model.latency / in_flight, stage_bytes * blocks / (model.l2_rate * part * 1e6), 8) *
      (plan.cluster.k > 1 ? model.shared_step : 1);
  // Promoting groups give stages back late, and blocks that share operands wait for each other's.
  const double late = plan.kind.promote && plan.multicasts() ? 1.03 : 1;
  const double step = both(tensor, feed, model.step_exponent) * (plan.multicasts() ? model.multicast_step : 1) * late +
                      (plan.multiply_groups == 1 && !turns ? model.lone_step : 0);

  const double strips = plan.group_rows() / 64.0 * plan.strips();
  const double tile = (turns ? model.turns_tile + model.turns_strip * strips : model.tile + model.strip * strips) +
                      (plan.scatters() ? model.scattered_tile : 0);
  double share = 0;
  if (e.schedule.shares() && plan.spread) {
    // Sums are left, and as many are read; of many pieces a few at a time.
    const double pieces = clusters / double(e.schedule.work.shared_tiles);
    share = 2.2 + 2 * plan.partial_bytes() / 80e3 + 0.18 * std::max(0.0, pieces - 8);
  } else if (e.schedule.shares()) {
    const double pieces = std::ceil(clusters / double(e.schedule.work.shared_tiles));
    const double others = std::max(1.0, pieces - 1), rounds = std::ceil(others / plan.runs_together());
    // Of a piece's time, where it is asked for with another: less where clusters have added up before.
    const double asked_together = plan.cluster.k > 1 ? 0.1 : 0.38;
    share = model.share + (rounds + asked_together * (others - rounds)) * model.piece +
            others * plan.partial_bytes() / (model.piece_rate * 1e3) +
            clusters * (plan.scatters() ? plan.cluster.k : 1) * plan.partial_bytes() / (model.share_rate * 1e6);
  }
  if (plan.cluster.k > 1)
    share +=
        model.cluster_share * blocks / rates.multiprocessors + sums_received(plan) / (model.cluster_sum_rate * 1e3);

  double memory_bytes = e.memory_seconds * rates.memory_bytes;
  if (e.schedule.shares()) {
    const double operands = (rows + columns) * double(asked.k) * plan.kind.operand_bytes() * double(asked.batch);
    const double again = std::clamp(1 - model.kept * 1e6 / operands, 0.0, 1.0);
    memory_bytes = std::max(memory_bytes, again * stage_bytes * steps * tiles * plan.cluster_size());
  }
  const double idle = std::clamp(rates.multiprocessors / blocks - 1, 0.0, 3.0);
  const double memory =
      memory_bytes / (model.memory_rate / 4.4 * rates.memory_bytes * 1e-6) * (1 + model.memory_idle * idle);
  // Of what was measured with promotion, tiles that clusters share came later than thought, and so did one with rows
  // and columns exchanged where nothing spoke for it.
  const double evened = !plan.kind.promote ? 1 : e.schedule.shares() ? 1.06 : plan.exchange ? 1.03 : 1;
  const double work = (e.waves * steps * step + std::ceil(e.waves) * tile + share) * evened;
  const double start =
      model.start + (plan.cluster_size() > 1 ? model.cluster_start : 0) + (turns ? model.last_strip * strips : 0);

  e.step_seconds = step * 1e-6;
  e.tile_seconds = tile * 1e-6;
  e.share_seconds = share * 1e-6;
  e.seconds = (start + both(work, memory, model.whole_exponent)) * 1e-6;
  return e;
}

// With trees, for products as they were learned from: with wgmma, and operands by the copy engine.
const GemmModel* learned_model(const GemmKind& kind, TensorInstruction instruction, const ChipRates& rates) {
  if (instruction != TensorInstruction::wgmma || !kind.by_tma()) return nullptr;
  const GemmModel& model = GemmModels::of(rates.gemm, kind.operand_bytes() * 8);
  return model.trees || (kind.promote && model.promoted) ? &model : nullptr;
}

// Tiles of 8 columns take the place of those of 16, which the model was fitted to, and are ranked as these.
GemmPlan as_fitted(GemmPlan plan) {
  if (!plan.narrow()) return plan;
  plan.tile.n = 16;
  plan.stages = std::min(plan.stages, plan.with_most_stages().stages);
  return plan;
}

GemmEstimate by_arithmetic(const GemmPlan& plan, const GemmShape& asked, const ChipRates& rates) {
  if (plan.facts().tensor_memory) return tensor_memory_estimate(plan, asked, rates);
  if (!plan.facts().reads_shared) return mma_estimate(plan, asked, rates);
  GemmEstimate e = wgmma_estimate(as_fitted(plan), asked, rates);
  if (plan.narrow()) e.plan = plan, e.schedule = schedule_of(plan, asked, rates);
  return e;
}

// Of rows so many bytes apart that begin at a line: the largest power of two, up to a line's 128, that all begin at.
double alignment(std::int64_t pitch) { return static_cast<double>(std::gcd(pitch, std::int64_t{128})); }

// What trees were wrong about (docs/gemm.md), for a few rows against many: tiles of 16 columns or 8, each of one block
// unless clusters share them through the workspace. They learned from operands that come early; where these come late,
// up to 16 steps, this matters (otherwise early_plan serves).
double doubt_of_few(const GemmEstimate& e, const GemmShape& asked, const ChipRates& rates) {
  const GemmPlan& plan = e.plan;
  const auto steps = e.schedule.steps;
  const int size = plan.cluster_size(), rows = plan.tile.m;
  // With many steps, blocks of 128 rows that fill more than half the chip end late, but for pairs; and how fast tall
  // ones are by themselves may depend on where the next product's blocks land.
  const unsigned blocks = e.schedule.work.clusters * static_cast<unsigned>(size);
  if (e.waves <= 1) {
    if (plan.split || steps < 17) return 1;
    const bool fills = 2 * blocks > static_cast<unsigned>(rates.multiprocessors);
    if (rows == 128 && size == 1 && steps >= 25) return 1.12;
    if (rows == 128 && size == 1 && steps >= 18 && plan.tile.n == 16) return 1.06;
    return (rows == 128 && fills && size != 2) || (rows > 128 && size == 1) ? 1.05 : 1;
  }
  // With a short k, sharing tiles costs more than it evens out.
  if (plan.split) return steps <= 16 ? 1.1 : 1;
  // With second tiles and more, rows that begin anywhere in a line come sooner where fours share what they all need;
  // and blocks of 128 rows end late: lower tiles were faster.
  const bool late = steps <= 16;
  if (rows == 128 && steps >= 5) return size > 1 ? 1.03 : late ? 1.12 : 1.08;
  const bool anywhere = alignment(asked.k * plan.kind.operand_bytes()) < 128;
  if (rows != 64 || e.waves <= 2 || steps < 8 || !anywhere) return 1;
  return size == 1 ? (late ? 1.06 : 1.03) : size == 4 && late ? 0.97 : 1;
}

// The same of all plans. Tiles that are spread, and blocks that share both operands and tiles, came after the trees: by
// what was measured of them (docs/gemm.md). Blocks that share operands have little to share in one or two steps, and
// start late. Where eight are the fastest, they are so by much; by less they are not believed: of 40 random shapes they
// were estimated best on four and were so on none. Sixteen blocks that share a tile fill a GPC and read through its one
// port: the more steps, the later.
double doubt(const GemmEstimate& e, const GemmShape& asked, const ChipRates& rates) {
  const GemmPlan& plan = e.plan;
  const double short_k = plan.multicasts() && e.schedule.steps <= 2 ? 1.05 : 1;
  if (plan.spread && e.schedule.shares()) {
    if (plan.tile.m == 64) return 1.12;
    return !plan.multicasts() ? 1.07 : std::min(asked.m, asked.n) < 300 ? 1.02 : 0.95;
  }
  if (plan.multicasts() && plan.cluster.k > 1) return (plan.tile.m == 64 ? 1.03 : 0.97) * short_k;
  if (plan.multicasts() && plan.cluster_size() > 4) return 1.04 * short_k;
  if (plan.cluster.k > 12) return 1 + 0.006 * std::max(0.0, e.waves * double(e.schedule.steps) - 12);
  // Promoted blocks alone sometimes take 9% to 24% longer than thought: in threes of groups on five of 172 large
  // products, with up to three waves, and others in one wave on three.
  if (plan.kind.promote && plan.cluster_size() == 1 && plan.tile.n > 16 &&
      e.waves <= (plan.multiply_groups == 3 ? 3 : 1))
    return 1.03;
  return short_k * (plan.tile.n <= 16 && plan.cluster.k == 1 ? doubt_of_few(e, asked, rates) : 1);
}

void correct(GemmEstimate& e, const GemmShape& asked, const ChipRates& rates, const GemmModel& model) {
  e.seconds *= doubt(e, asked, rates) * factor_of(model, e.plan.kind, asked, traits_of(e, asked));
}

// Few rows against a large operand: of plans that only wait for memory, estimates differ by less than their error, and
// one was measured to be the fastest nearly always: each block alone, and none ends before the others, by sharing the
// last tiles unless whole ones end together too. docs/gemm.md has the measurements.
bool is_favourite(const GemmPlan& plan, const GemmKind& kind, const GemmShape& shape, const ChipRates& rates) {
  const std::int64_t few = std::min(shape.m, shape.n), many = std::max(shape.m, shape.n);
  if (shape.batch > 1 || few > 16 || many * shape.k * kind.operand_bytes() < 100'000'000) return false;
  if (plan.tile.m != 64 || plan.tile.n > 16 || plan.cluster_size() > 1 || plan.pieces > 0) return false;
  const double waves = std::ceil(double(many) / plan.tile.m) / rates.multiprocessors;
  constexpr double full = 0.96;  // of the last wave, and those before it
  return plan.split != (waves >= full * std::ceil(waves));
}

bool is_faster(const GemmEstimate& a, const GemmEstimate& b) { return a.seconds < b.seconds; }

}  // namespace

// The waits and additions of those parts behind which nothing is in flight, of which other groups' products hide the
// more, the fewer there are.
double promotion_clocks(const GemmPlan& plan) {
  const int parts = plan.group_rows() / 64 * (plan.tile.n / plan.promoted_columns());
  const bool overlaps = plan.promoted_together() == 2;
  const double clocks = (plan.promoted_columns() / 2.0 + 100) * (overlaps ? 1.0 / plan.promoted_steps() : parts);
  if (plan.multiply_groups == 1 || plan.pipelining == Pipelining::pingpong) return clocks;
  if (plan.multiply_groups == 3) return 0.1 * clocks;
  if (overlaps) return (parts < 4 ? 0.2 : 0.7) * clocks;
  return (parts < 4 ? 0.25 : 0.36) * clocks;
}

GemmTraits traits_of(const GemmEstimate& e, const GemmShape& asked) {
  const GemmPlan plan = as_fitted(e.plan);
  const WorkSchedule& work = e.schedule.work;
  const auto rows = double(plan.exchange ? asked.n : asked.m), columns = double(plan.exchange ? asked.m : asked.n);
  const double whole_waves = double(e.schedule.tiles) / work.clusters;
  const auto filled = [](double extent, double tiles, int tile) { return extent / std::max(1.0, tiles * tile); };
  return {
      e.seconds * 1e6,
      e.memory_seconds / e.seconds,
      double(work.clusters) * plan.cluster_size(),
      e.waves,
      whole_waves - std::floor(whole_waves),
      double(e.schedule.steps),
      double(plan.tile.m),
      double(e.plan.tile.n),
      double(plan.group_rows()),
      plan.pipelining == Pipelining::pingpong ? 1.0 : 0.0,
      double(plan.cluster.m),
      double(plan.cluster.n),
      double(plan.cluster.k),
      !e.schedule.shares() ? 0.0
      : plan.spread        ? 2.0
                           : double(work.clusters) / work.shared_tiles,  // in turn
      double(plan.stages),
      filled(rows, work.tiles.rows, plan.tile.m * plan.cluster.m),
      filled(columns, work.tiles.columns, plan.tile.n * plan.cluster.n),
      plan.group_rows() / 64.0 * plan.strips(),
      double(work.tiles.rows),
      double(work.tiles.columns),
      (double(asked.m) + double(asked.n)) * double(asked.k) * double(asked.batch) * plan.kind.operand_bytes() * 1e-6,
      double(asked.k),
      filled(double(asked.k), double(e.schedule.steps) * plan.cluster.k, plan.tile_k()),
      alignment(asked.k * plan.kind.operand_bytes()),
      plan.exchange ? 1.0 : 0.0,
      double(asked.m) * double(asked.n) * double(asked.batch) * plan.d_bytes() * 1e-6,
      alignment(asked.n * plan.d_bytes()),
      plan.spread && e.schedule.shares() ? double(work.clusters) / work.shared_tiles : 0.0};
}

double factor_of(const GemmModel& model, const GemmKind& kind, const GemmShape& shape, const GemmTraits& traits) {
  const auto says = [&](const GemmTrees* trees) {
    const bool knows = trees && std::min(shape.m, shape.n) >= trees->least_side && shape.k >= trees->least_k;
    return knows ? trees->factor(traits) : 1;
  };
  return says(model.trees.get()) * (kind.promote ? says(model.promoted.get()) : 1);
}

GemmEstimate estimate(const GemmPlan& plan, const GemmShape& asked, const ChipRates& rates) {
  GemmEstimate e = by_arithmetic(plan, asked, rates);
  if (const GemmModel* const model = learned_model(plan.kind, plan.instruction, rates))
    correct(e, asked, rates, *model);
  return e;
}

std::vector<GemmEstimate> rank(const GemmKind& kind, const GemmShape& shape, const ChipRates& rates) {
  std::vector<GemmEstimate> ranking;
  for (const GemmPlan& plan : candidate_plans(kind, shape, rates))
    if (static_cast<std::size_t>(plan.shared_bytes()) + 1024 <= rates.shared_bytes)
      if (GemmEstimate e = by_arithmetic(plan, shape, rates); e.schedule.tiles <= most_tiles)
        ranking.push_back(std::move(e));
  std::stable_sort(ranking.begin(), ranking.end(), is_faster);
  const GemmModel* const model = learned_model(kind, rates.instruction, rates);
  if (!model || ranking.empty()) return ranking;
  // Trees are asked about those that may be the best; the others stay behind them, in the order of the arithmetic.
  constexpr double far = 1.6;
  const double limit = far * ranking.front().seconds;
  const auto end =
      std::partition_point(ranking.begin(), ranking.end(), [&](const GemmEstimate& e) { return e.seconds < limit; });
  std::for_each(ranking.begin(), end, [&](GemmEstimate& e) { correct(e, shape, rates, *model); });
  std::stable_sort(ranking.begin(), end, is_faster);
  if (const auto favourite = std::find_if(
          ranking.begin(), end, [&](const GemmEstimate& e) { return is_favourite(e.plan, kind, shape, rates); });
      favourite != end)
    std::rotate(ranking.begin(), favourite, favourite + 1);
  return ranking;
}

}  // namespace wm::plan
