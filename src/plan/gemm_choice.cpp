// Tuned plans before the model.
#include "plan/gemm_choice.hpp"

#include "plan/gemm_candidates.hpp"
#include "plan/gemm_plan_text.hpp"

namespace wm::plan {

std::optional<GemmChoice> choose(const GemmKind& kind, const GemmShape& shape, const ChipRates& rates,
                                 std::string_view chip) {
  return choose(kind, shape, rates, chip, known_plans());
}

std::optional<GemmChoice> choose(const GemmKind& kind, const GemmShape& shape, const ChipRates& rates,
                                 std::string_view chip, const TunedPlans& plans) {
  // Entries are of single products with D's rows contiguous, without promotion, which other tiles are good at.
  const bool listed = shape.batch == 1 && !kind.d_columns && !kind.promote;
  const TunedPlan* entry = listed ? plans.find(key_of(chip, kind, shape)) : nullptr;
  if (entry) {
    const GemmPlan tuned = plan_from_text(entry->plan, kind);
    // Measured without an epilogue, for instance: what this product adds may not leave it room.
    if (tuned.valid() && tuned.has_room() && tuned.instruction == rates.instruction &&
        static_cast<std::size_t>(tuned.shared_bytes()) + 1024 <= rates.shared_bytes)
      return GemmChoice{tuned, true, entry->key.m == shape.m ? entry->us : 0};
  }
  const auto ranking = rank(kind, shape, rates);
  return ranking.empty() ? std::nullopt : std::optional(GemmChoice{ranking.front().plan});
}

// Kernels then overlap whatever the plan, and what is left to save are tiles: the fewer a block has, the better, as
// long as all its copies can be asked for at once; and where each has one low tile, fewer stages, so that a block of
// the next kernel finds room beside it. Measured on an H200 (docs/gemm.md). Sums are added up in the same order, so a
// product has the same bits behind whatever kernel.
std::optional<GemmPlan> early_plan(const GemmChoice& choice, const GemmKind& kind, const GemmShape& shape,
                                   const ChipRates& rates) {
  constexpr std::int64_t few = 16, most_steps = 16;
  const GemmPlan& taken = choice.plan;
  const bool exchange = shape.m <= shape.n;
  const std::int64_t rows = exchange ? shape.n : shape.m, columns = exchange ? shape.m : shape.n;
  const auto tiles_of = [&](int height) { return (rows + height - 1) / height; };
  const std::int64_t steps = (shape.k + taken.tile_k() - 1) / taken.tile_k();
  if (choice.tuned || !taken.loads_early() || taken.split || taken.cluster.k > 1 || shape.batch > 1 || columns > few ||
      steps > most_steps)
    return std::nullopt;
  const auto of_height = [&](int height) {
    const GemmPlan plan{.kind = exchange ? kind.transposed() : kind,
                        .tile = {height, few},
                        .cluster = {1, 1},
                        .multiply_groups = height == 64    ? 1
                                           : height == 192 ? 3
                                                           : 2,
                        .exchange = exchange};
    return narrowed(plan, shape).with_most_stages();
  };
  GemmPlan plan = of_height(64);
  const bool one_wave = tiles_of(64) <= rates.multiprocessors;
  if (one_wave && 4 * tiles_of(64) > 3 * rates.multiprocessors) {
    while (plan.stages > 2 && plan.blocks_each() < 2) --plan.stages;
  } else {
    // Blocks on half the chip leave room for the next kernel's as they are.
    const std::int64_t blocks = std::int64_t{schedule_of(taken, shape, rates).work.clusters} * taken.cluster_size();
    if (one_wave || 2 * blocks <= rates.multiprocessors) return std::nullopt;
    plan = of_height(128);
    for (const int height : {128, 192, 256})
      if (const GemmPlan other = of_height(height);
          tiles_of(height) <= rates.multiprocessors && steps <= other.stages) {
        plan = other;
        break;
      }
  }
  const bool fits = static_cast<std::size_t>(plan.shared_bytes()) + 1024 <= rates.shared_bytes;
  if (plan == taken || !plan.valid() || !plan.has_room() || !fits) return std::nullopt;
  return plan;
}

}  // namespace wm::plan
