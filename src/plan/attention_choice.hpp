// Which plan for which attention: candidates, an estimate of each one's time, and how a plan walks the work.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/chip_rates.hpp"
#include "warpmill/attention/plan.h"
#include "warpmill/attention/schedule.h"

namespace wm::plan {

// `left` and `right` count where the kind's mask has them.
struct AttentionShape {
  std::int64_t batch = 1, heads = 1, kv_heads = 1;
  std::int64_t queries = 0, keys = 0;  // of a sequence; of the longest where they differ
  std::int64_t left = 0, right = 0;
  bool align_ends = true;
};

struct AttentionEstimate {
  AttentionPlan plan;
  std::int64_t tiles = 0;
  double blocks = 0;        // of keys, of an average tile
  double step_seconds = 0;  // one block of keys
  double tile_seconds = 0;  // what a tile takes besides its steps: its first scores, its last values, its output
  double seconds = 0;       // the estimate
};
AttentionEstimate estimate(const AttentionPlan& plan, const AttentionShape& shape, const ChipRates& rates);

// Every plan that is shipped for the kind, the best for the shape first. Empty where none fits shared memory.
std::vector<AttentionEstimate> rank(const AttentionKind& kind, const AttentionShape& shape, const ChipRates& rates);

// The order in which tiles are begun, and the blocks that do.
QuerySchedule schedule_of(const AttentionPlan& plan, const AttentionShape& shape, const ChipRates& rates);
unsigned blocks_of(const QuerySchedule& schedule, const ChipRates& rates);

}  // namespace wm::plan
