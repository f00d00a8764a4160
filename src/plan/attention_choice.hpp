// Which plan for which attention: candidates, an estimate of each one's time, and how a plan walks the work.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "plan/attention_shape.hpp"
#include "plan/chip_rates.hpp"
#include "plan/tuned_plans.hpp"
#include "warpmill/attention/plan.h"
#include "warpmill/attention/schedule.h"

namespace wm::plan {

// All tensor cores together, for its elements.
double tensor_flops(const AttentionKind& kind, const ChipRates& rates);

struct AttentionEstimate {
  AttentionPlan plan;
  std::int64_t tiles = 0;
  double steps = 0;         // of an average tile
  double step_seconds = 0;  // one of them
  double tile_seconds = 0;  // what a tile takes besides its steps: its first scores, its last values, its output
  double seconds = 0;       // the estimate
};
AttentionEstimate estimate(const AttentionPlan& plan, const AttentionShape& shape, const ChipRates& rates);

// The plans that are shipped for a kind on sm_90a: steps of the two widths that fit and are widest, and of 128, 96 and
// 64 keys. Each is a kernel to compile, and the widths between them gain little (docs/attention.md).
std::vector<AttentionPlan> candidates(const AttentionKind& kind, bool few_queries);  // few: one group's

// The plan for a few queries of `heads_together` heads that share keys, `packed` of each in a tile. Nothing where none
// fits. How many are packed makes no other kernel of it.
std::optional<AttentionPlan> packed_plan(const AttentionKind& kind, int packed, std::int64_t heads_together,
                                         TensorInstruction instruction = TensorInstruction::wgmma);

// All of them, and before them the one that packs a few queries of heads that share keys; the best for the shape first
// (where expressions skip steps, the best for documents: then estimates, which are of all steps, need not rise). Empty
// where none fits shared memory.
std::vector<AttentionEstimate> rank(const AttentionKind& kind, const AttentionShape& shape, const ChipRates& rates);
// Where that is empty: what is in the way, in words.
std::string_view why_none(const AttentionKind& kind, TensorInstruction instruction);

// The plan the library takes: a measured one where there is one, else the ranking's first. `chip` is the device's name.
// Nothing where no plan fits the chip. The second form looks into these plans instead of known_plans().
struct AttentionChoice {
  AttentionPlan plan;
  bool tuned = false;
};
std::optional<AttentionChoice> choose(const AttentionKind& kind, const AttentionShape& shape, const ChipRates& rates,
                                      std::string_view chip);
std::optional<AttentionChoice> choose(const AttentionKind& kind, const AttentionShape& shape, const ChipRates& rates,
                                      std::string_view chip, const TunedPlans& plans);

// The order in which tiles are begun, and the blocks that do.
QuerySchedule schedule_of(const AttentionPlan& plan, const AttentionShape& shape, const ChipRates& rates);
unsigned blocks_of(const AttentionPlan& plan, const QuerySchedule& schedule, const ChipRates& rates);

}  // namespace wm::plan
