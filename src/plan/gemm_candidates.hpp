// The GEMM plans that the library may choose from.
#pragma once

#include <vector>

#include "plan/gemm_schedule.hpp"

namespace wm::plan {

// Every plan that is shipped for the kind, each valid.
std::vector<GemmPlan> candidate_plans(const GemmKind& kind, TensorInstruction instruction = TensorInstruction::wgmma);

// Those of them that are worth an estimate for a shape: of two tiles that cover the columns as often the narrower, and
// blocks share tiles along k only where there are fewer tiles than multiprocessors.
std::vector<GemmPlan> candidate_plans(const GemmKind& kind, const GemmShape& shape, const ChipRates& rates);

// A plan with tiles of 16 columns, with tiles of 8 where there are no more columns: what a tile does not fill, its
// block asks for all the same.
GemmPlan narrowed(const GemmPlan& plan, const GemmShape& shape);

}  // namespace wm::plan
