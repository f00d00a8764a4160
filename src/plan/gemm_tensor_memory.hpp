// Plans with their sums in tensor memory (sm_100a), and what they would take on a B200: arithmetic on a data sheet's
// cycles, measured on no chip of ours.
#pragma once

#include <vector>

#include "plan/gemm_ranking.hpp"

namespace wm::plan {

std::vector<GemmPlan> tensor_memory_plans(const GemmKind& kind);

GemmEstimate tensor_memory_estimate(const GemmPlan& plan, const GemmShape& shape, const ChipRates& rates);

// Cycles of one product of 32 bytes along k, as microbenchmarks of a B200 found them: the same for all types.
double product_cycles(const GemmPlan& plan);

}  // namespace wm::plan
