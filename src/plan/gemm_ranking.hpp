// Which plan for which GEMM: candidates, an estimate of each one's time, and the arithmetic behind it.
#pragma once

#include <vector>

#include "plan/gemm_schedule.hpp"
#include "plan/gemm_trees.hpp"

namespace wm::plan {

struct GemmEstimate {
  GemmPlan plan;
  GemmSchedule schedule;
  double waves = 0;           // tiles over clusters; a whole number unless tiles are shared
  double step_seconds = 0;    // one stage of one tile: products and the way from L2
  double tile_seconds = 0;    // what a tile takes besides its steps: storing the sums
  double share_seconds = 0;   // what sharing tiles along k takes: sums through L2, waiting
  double memory_seconds = 0;  // the least traffic of device memory
  double seconds = 0;         // the estimate
  const char* binds = "";     // of a plan with tensor memory: who is busy all the time
};

// The plan's kind is the kernel's; the shape is the caller's, before any exchange. Where the chip's model has trees,
// they have their say.
GemmEstimate estimate(const GemmPlan& plan, const GemmShape& shape, const ChipRates& rates);

// What a step takes longer where sums move to other registers, by measurements (docs/gemm.md).
double promotion_clocks(const GemmPlan& plan);

// What trees ask about, of an estimate by arithmetic alone.
GemmTraits traits_of(const GemmEstimate& estimate, const GemmShape& shape);
// And what they make of that estimate; 1 where the model has none.
double factor_of(const GemmModel& model, const GemmKind& kind, const GemmShape& shape, const GemmTraits& traits);

// The plans that are worth an estimate (gemm_candidates.hpp), the best for `shape` first; those that the arithmetic
// puts far behind are in its order and have its estimate. Empty where none fits the chip, or all make too many tiles.
std::vector<GemmEstimate> rank(const GemmKind& kind, const GemmShape& shape, const ChipRates& rates);

}  // namespace wm::plan
