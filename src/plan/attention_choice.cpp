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

QuerySchedule schedule_of(const AttentionPlan& plan, const AttentionShape& shape, std::size_t l2_bytes) {
  const std::int64_t all = shape.batch * shape.heads;
  const std::int64_t head_bytes =
      std::max<std::int64_t>(1, shape.keys * (plan.kind.head_dim + plan.kind.value_dim) * plan.element_bytes);
  const std::int64_t ratio = shape.heads / std::max<std::int64_t>(1, shape.kv_heads);
  // Half of L2 for keys and values in flight; heads that share them come together.
  const std::int64_t kv_heads = std::max<std::int64_t>(1, static_cast<std::int64_t>(l2_bytes / 2) / head_bytes);
  return {static_cast<unsigned>(shape.batch), static_cast<unsigned>(shape.heads),
          static_cast<unsigned>((shape.queries + plan.queries() - 1) / plan.queries()),
          static_cast<unsigned>(std::clamp<std::int64_t>(kv_heads * ratio, 1, std::max<std::int64_t>(all, 1)))};
}

unsigned blocks_of(const QuerySchedule& schedule, const ChipRates& rates) {
  return std::min(schedule.count(), static_cast<unsigned>(rates.multiprocessors));
}

}  // namespace wm::plan
