// Time of a plan by steps and tiles, and what runs at the same time.
#include "plan/attention_choice.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "plan/attention_plan_text.hpp"
#include "plan/attention_tensor_memory.hpp"

namespace wm::plan {
namespace {

std::int64_t ceil_divide(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// Steps of keys that queries from `first` on see, as the kernel counts them (attention/mask.cuh).
std::int64_t steps_seen(const AttentionPlan& plan, const AttentionShape& shape, std::int64_t first) {
  const std::int64_t diagonal = first + (shape.align_ends ? shape.keys - shape.queries : 0);
  const std::int64_t right =
      plan.kind.mask.right ? std::min(shape.keys, diagonal + plan.queries() - 1 + shape.right + 1) : shape.keys;
  const std::int64_t left = plan.kind.mask.left ? std::max<std::int64_t>(0, diagonal - shape.left) : 0;
  const std::int64_t begin = left / plan.keys, end = ceil_divide(std::max<std::int64_t>(0, right), plan.keys);
  return std::max<std::int64_t>(0, end - begin);
}

// Heads of a batch as tiles count them: those that share keys in parts, where a tile has several.
std::int64_t head_parts(const AttentionPlan& plan, const AttentionShape& shape) {
  const std::int64_t ratio = std::max<std::int64_t>(1, shape.heads / std::max<std::int64_t>(1, shape.kv_heads));
  return shape.heads / ratio * ceil_divide(ratio, plan.heads());
}

// What a step takes besides its products, measured on an H200: exponentials that nothing hides. The longer the
// products, the more they hide.
double exposed_seconds(const AttentionPlan& plan) {
  const AttentionKind& kind = plan.kind;
  const int dims = kind.head_dim + kind.value_dim;
  if (kind.softcap && !plan.grounded() && !kind.narrow() && dims <= 256) return plan.early ? 0.62e-6 : 0.8e-6;
  if (kind.narrow()) return dims <= 128 ? 0.77e-6 : dims <= 256 ? 0.68e-6 : 0.54e-6;
  return dims <= 256 ? 0.45e-6 : dims <= 384 ? 0.25e-6 : 0.13e-6;
}

// Rows of wide heads that begin in the middle of a sector of L2, 32 bytes: a box of 128 bytes takes five of them, and
// L2 is what such kernels wait for. Blocks that bring each other half of everything ask for half as much.
bool splits_sectors(const AttentionKind& kind) {
  constexpr int sector = 32;
  return !kind.narrow() && kind.head_dim + kind.value_dim > 256 &&
         (kind.head_dim * 2 % sector != 0 || kind.value_dim * 2 % sector != 0);
}

}  // namespace

double tensor_flops(const AttentionKind& kind, const ChipRates& rates) {
  return rates.tensor_flops * (kind.narrow() ? 2 : 1);
}

AttentionEstimate estimate(const AttentionPlan& plan, const AttentionShape& shape, const ChipRates& rates) {
  AttentionEstimate e;
  e.plan = plan;
  const std::int64_t per_head = ceil_divide(shape.queries, plan.queries());
  e.tiles = per_head * shape.batch * head_parts(plan, shape);
  // Less power than products alone draw.
  const double rate = 1.05 * tensor_flops(plan.kind, rates) / rates.multiprocessors;
  const AttentionClocks clocks = clocks_of(plan);
  e.step_seconds = plan.tensor_memory() ? clocks.step() / rates.clock
                                        : 2.0 * plan.rows() / plan.blocks_together() * plan.keys *
                                                  (plan.head_columns() + plan.value_columns()) / rate +
                                              exposed_seconds(plan);
  if (!plan.tensor_memory() && !plan.pair && splits_sectors(plan.kind))  // the more blocks ask, the longer L2 takes
    e.step_seconds *= 1 + 0.09 * std::min(1.0, static_cast<double>(e.tiles) / rates.multiprocessors);
  // In tensor memory the output leaves under the next tile; its first scores and last values stand alone.
  e.tile_seconds = plan.tensor_memory() ? clocks.chain / rates.clock
                   : plan.strips == 0   ? 2.4e-6
                   : plan.strips == 1   ? 1.9e-6
                                        : 1.6e-6;
  if (!plan.tensor_memory() && plan.pair) e.tile_seconds += 3e-6;  // two blocks begin and end it together
  double steps = 0, longest = 0;
  for (std::int64_t tile = 0; tile < per_head; ++tile) {
    const auto seen = static_cast<double>(steps_seen(plan, shape, tile * plan.queries()));
    steps += seen, longest = std::max(longest, seen);
  }
  e.steps = steps / static_cast<double>(std::max<std::int64_t>(per_head, 1));
  const double average = e.steps * e.step_seconds + e.tile_seconds, most = longest * e.step_seconds + e.tile_seconds;
  const int at_once = std::max(1, rates.multiprocessors / plan.blocks_together());
  const double rounds = static_cast<double>(e.tiles) / at_once;
  // Tiles of one length end together; where they differ, the shortest come last and even out what is left.
  const bool even = longest <= e.steps;
  double busiest = even ? std::ceil(rounds) * most : std::max(rounds * average, most);
  if (!even && plan.tiles == TileSource::share) {  // the first block has the longest of each round
    busiest = 0;
    const std::int64_t of_each_length = e.tiles / per_head;
    for (std::int64_t tile = 0; tile < e.tiles; tile += at_once) {
      const std::int64_t seen = steps_seen(plan, shape, (per_head - 1 - tile / of_each_length) * plan.queries());
      busiest += static_cast<double>(seen) * e.step_seconds + e.tile_seconds;
    }
  }
  e.seconds = rates.launch_seconds + 2e-6 + busiest;
  return e;
}

namespace {

// What was faster on an H200 than groups that take turns: wide heads of e4m3 with weights made early, where there are
// registers for it; and a softcap, whose weights take so long that turns only delay them, with heads of 128 early too.
AttentionPlan as_fast_as_measured(const AttentionPlan& plan) {
  const AttentionKind& kind = plan.kind;
  const int dims = kind.head_dim + kind.value_dim;
  AttentionPlan other = plan;
  other.turns = false;
  if (plan.groups > 1 && kind.narrow() && kind.value_dim > 192) {
    other.early = true;
    return other.valid() ? other : plan;
  }
  const bool caps = kind.softcap && !kind.narrow() && !plan.changes_scores() && !plan.grounded();
  if (plan.groups == 1 || !caps || dims > 256 || kind.has_tails() || kind.mask.left) return plan;
  other.early = dims > 128;
  if (!other.valid()) other.early = false;
  return other;
}

}  // namespace

std::vector<AttentionPlan> candidates(const AttentionKind& kind, bool few_queries) {
  // Three groups have too few registers but for the smallest heads, which two do not keep busy.
  const int groups = few_queries ? 1 : kind.head_dim + kind.value_dim <= 128 ? 3 : 2;
  std::vector<AttentionPlan> plans;
  int widths = 0;  // of steps that fit
  for (const int keys : {224, 192, 176, 160, 144, 128, 112, 96, 80, 64, 48}) {
    if (keys > 176 && !kind.narrow()) continue;
    if (keys == 144 && !AttentionPlan{.kind = kind}.masks_only()) continue;  // others have 160, or no more than 128
    if (widths >= 2 && keys != 128 && keys != 96 && keys != 64) continue;
    for (const int strips : {2, 1, 0}) {  // a tile that has fewer than fit only waits longer
      AttentionPlan plan{.kind = kind, .keys = keys, .groups = groups, .strips = strips};
      if (!plan.valid()) continue;
      // Queries of small heads come early; of larger ones they would take what wide steps need. In e4m3 it gains
      // nothing.
      plan.q_stages = groups == 3 && !kind.narrow() ? 2 : 1;
      if (!plan.valid()) plan.q_stages = 1;
      plans.push_back(as_fast_as_measured(plan));
      ++widths;
      AttentionPlan pair = plans.back();
      pair.pair = true;
      if (groups > 1 && splits_sectors(kind) && pair.valid()) plans.push_back(pair);
      break;
    }
  }
  return plans;
}

std::optional<AttentionPlan> packed_plan(const AttentionKind& kind, int packed, std::int64_t heads_together,
                                         TensorInstruction instruction) {
  if (instruction == TensorInstruction::tcgen05) {
    for (AttentionPlan plan : tensor_memory_candidates(kind)) {
      plan.packed = packed;
      if (plan.valid()) return plan;
    }
    return std::nullopt;
  }
  for (const int keys : {176, 128, 112, 80, 64})
    for (const int strips : {2, 1, 0}) {
      const AttentionPlan plan{.kind = kind,
                               .keys = keys,
                               .groups = packed * heads_together > AttentionPlan::wgmma_rows ? 2 : 1,
                               .strips = strips,
                               .packed = packed};
      if (plan.valid()) return plan;
    }
  return std::nullopt;
}

std::string_view why_none(const AttentionKind& kind, TensorInstruction instruction) {
  const AttentionPlan least{.kind = kind, .keys = 64, .stages = 1, .instruction = instruction};
  if (least.tensor_memory()) return least.valid() ? "" : least.problem();
  return "Q, K and V do not fit shared memory";
}

std::vector<AttentionEstimate> rank(const AttentionKind& kind, const AttentionShape& shape, const ChipRates& rates) {
  std::vector<AttentionEstimate> ranking;
  for (const AttentionPlan& plan : rates.instruction == TensorInstruction::tcgen05
                                       ? tensor_memory_candidates(kind)
                                       : candidates(kind, shape.queries <= AttentionPlan::wgmma_rows))
    if (plan.blocks_together() <= rates.multiprocessors) ranking.push_back(estimate(plan, shape, rates));
  // Which steps expressions skip only the device knows; who gives one skips most. Under a causal mask plans for heads
  // of up to 128 are put in the order that they have for documents of 2,048 keys, as many as there are: few are longer,
  // and wide steps waste much of what short ones leave (docs/attention.md).
  constexpr std::int64_t document = 2048;
  const bool skips = kind.expressions.skip && kind.mask.right && !kind.mask.left && kind.head_dim <= 128 &&
                     kind.value_dim <= 128 && rates.instruction == TensorInstruction::wgmma;
  AttentionShape typical = shape;
  typical.batch *= std::max<std::int64_t>(1, shape.queries / document);
  typical.queries = std::min(shape.queries, document), typical.keys = std::min(shape.keys, document);
  const auto time = [&](const AttentionEstimate& e) {
    return skips ? estimate(e.plan, typical, rates).seconds : e.seconds;
  };
  std::stable_sort(ranking.begin(), ranking.end(),
                   [&](const AttentionEstimate& a, const AttentionEstimate& b) { return time(a) < time(b); });
  // A few queries of heads that share keys fit one tile, which reads the keys once: reading is what takes the time.
  const std::int64_t ratio = shape.heads / std::max<std::int64_t>(1, shape.kv_heads);
  if (ratio > 1 && shape.queries > 0 && shape.queries <= 32)
    if (const auto plan = packed_plan(kind, static_cast<int>(std::bit_ceil(static_cast<unsigned>(shape.queries))),
                                      ratio, rates.instruction))
      ranking.insert(ranking.begin(), estimate(*plan, shape, rates));
  return ranking;
}

std::optional<AttentionChoice> choose(const AttentionKind& kind, const AttentionShape& shape, const ChipRates& rates,
                                      std::string_view chip) {
  return choose(kind, shape, rates, chip, known_plans());
}

std::optional<AttentionChoice> choose(const AttentionKind& kind, const AttentionShape& shape, const ChipRates& rates,
                                      std::string_view chip, const TunedPlans& plans) {
  if (const TunedAttention* entry = plans.find(key_of(chip, kind, shape))) {
    const AttentionPlan tuned = attention_plan_from_text(entry->plan, kind);
    if (tuned.valid()) return AttentionChoice{tuned, true};
  }
  const auto ranking = rank(kind, shape, rates);
  return ranking.empty() ? std::nullopt : std::optional(AttentionChoice{ranking.front().plan, false});
}

QuerySchedule schedule_of(const AttentionPlan& plan, const AttentionShape& shape, const ChipRates& rates) {
  const std::int64_t heads = head_parts(plan, shape), all = std::max<std::int64_t>(1, shape.batch * heads);
  const std::int64_t tiles = (shape.queries + plan.queries() - 1) / plan.queries();
  const std::int64_t head_bytes =
      std::max<std::int64_t>(1, shape.keys * (plan.kind.head_dim + plan.kind.value_dim) * plan.element_bytes());
  const std::int64_t ratio = std::max<std::int64_t>(1, heads / std::max<std::int64_t>(1, shape.kv_heads));
  // Heads whose keys and values fill half of L2, those that share them together.
  const std::int64_t fit =
      std::max<std::int64_t>(1, static_cast<std::int64_t>(rates.l2_capacity / 2) / head_bytes) * ratio;
  // Tiles of different lengths: a few rows of as many heads as there are multiprocessors for, so that what runs at the
  // same time reads the same keys, and lengths fall from the first to the last.
  constexpr std::int64_t rows_together = 4;
  const bool ordered = plan.orders_tiles() && shape.batch * tiles <= AttentionPlan::most_ordered_tiles;
  const bool falling = plan.kind.mask.right || plan.kind.mask.left || ordered;
  const std::int64_t group = falling ? std::max<std::int64_t>(fit, rates.multiprocessors / rows_together) : fit;
  return {static_cast<unsigned>(shape.batch), static_cast<unsigned>(heads), static_cast<unsigned>(tiles),
          static_cast<unsigned>(std::min(group, all)),
          static_cast<unsigned>(std::max<std::int64_t>(1, falling ? std::min(rows_together, tiles) : tiles))};
}

unsigned blocks_of(const AttentionPlan& plan, const QuerySchedule& schedule, const ChipRates& rates) {
  const unsigned tiles = schedule.count(), together = static_cast<unsigned>(plan.blocks_together());
  if (plan.claims()) return tiles * together;
  return std::min(tiles, std::max(1u, static_cast<unsigned>(rates.multiprocessors) / together)) * together;
}

}  // namespace wm::plan
