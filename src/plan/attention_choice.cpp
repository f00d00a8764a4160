// Tiles by head dim, and sections of heads by what L2 holds.
#include "plan/attention_choice.hpp"

#include <algorithm>

namespace wm::plan {

std::vector<AttentionPlan> candidate_plans(const AttentionKind& kind, const AttentionShape& shape) {
  std::vector<AttentionPlan> plans;
  const auto add = [&](AttentionPlan plan) {
    plan.kind = kind;
    if (plan.valid()) plans.push_back(plan);
  };
  const int widest = std::max(kind.head_dim, kind.value_dim);
  const int groups = shape.queries <= AttentionPlan::group_queries ? 1 : 2;
  if (widest == 64) {
    add({.keys = 128, .groups = groups == 1 ? 1 : 3});
  } else if (widest == 128) {
    add({.keys = 176, .groups = groups});
    add({.keys = 128, .groups = groups, .strips = 2});
  } else if (widest == 192) {
    add({.keys = 112, .groups = groups});
    add({.keys = 80, .groups = groups});
  } else {
    add({.keys = 64, .groups = groups});
  }
  return plans;
}

QuerySchedule schedule_of(const AttentionPlan& plan, const AttentionShape& shape, const ChipRates& rates) {
  const std::int64_t all = std::max<std::int64_t>(1, shape.batch * shape.heads);
  const std::int64_t tiles = (shape.queries + plan.queries() - 1) / plan.queries();
  const std::int64_t head_bytes =
      std::max<std::int64_t>(1, shape.keys * (plan.kind.head_dim + plan.kind.value_dim) * plan.element_bytes);
  const std::int64_t ratio = std::max<std::int64_t>(1, shape.heads / std::max<std::int64_t>(1, shape.kv_heads));
  // Heads whose keys and values fill half of L2, those that share them together.
  const std::int64_t fit =
      std::max<std::int64_t>(1, static_cast<std::int64_t>(rates.l2_capacity / 2) / head_bytes) * ratio;
  // Tiles of different lengths: a few rows of as many heads as there are multiprocessors for, so that what runs at the
  // same time reads the same keys, and lengths fall from the first to the last.
  constexpr std::int64_t rows_together = 4;
  const bool falling = plan.kind.mask.right || plan.kind.mask.left;
  const std::int64_t group = falling ? std::max<std::int64_t>(fit, rates.multiprocessors / rows_together) : fit;
  return {static_cast<unsigned>(shape.batch), static_cast<unsigned>(shape.heads), static_cast<unsigned>(tiles),
          static_cast<unsigned>(std::min(group, all)),
          static_cast<unsigned>(std::max<std::int64_t>(1, falling ? std::min(rows_together, tiles) : tiles))};
}

unsigned blocks_of(const QuerySchedule& schedule, const ChipRates& rates) {
  return std::min(schedule.count(), static_cast<unsigned>(rates.multiprocessors));
}

}  // namespace wm::plan
