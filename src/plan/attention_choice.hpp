// Which plan for which attention, and how it walks the work.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/chip_rates.hpp"
#include "warpmill/attention/plan.h"
#include "warpmill/attention/schedule.h"

namespace wm::plan {

struct AttentionShape {
  std::int64_t batch = 1, heads = 1, kv_heads = 1;
  std::int64_t queries = 0, keys = 0;  // of a sequence; the longest where they differ
};

// The plans that are shipped for a kind, the best for the shape first.
std::vector<AttentionPlan> candidate_plans(const AttentionKind& kind, const AttentionShape& shape);

// The order in which tiles are begun, and the blocks that do.
QuerySchedule schedule_of(const AttentionPlan& plan, const AttentionShape& shape, const ChipRates& rates);
unsigned blocks_of(const QuerySchedule& schedule, const ChipRates& rates);

}  // namespace wm::plan
