// The plan the library takes for a GEMM: a measured one where there is one, else the ranking's first.
#pragma once

#include "plan/gemm_ranking.hpp"
#include "plan/tuned_plans.hpp"

namespace wm::plan {

struct GemmChoice {
  GemmPlan plan;
  bool tuned = false;
  double measured_us = 0;  // where this very shape was measured
};

// `chip` is the device's name. Nothing where no plan fits the chip. The second form looks into these plans instead of
// known_plans().
std::optional<GemmChoice> choose(const GemmKind& kind, const GemmShape& shape, const ChipRates& rates,
                                 std::string_view chip);
std::optional<GemmChoice> choose(const GemmKind& kind, const GemmShape& shape, const ChipRates& rates,
                                 std::string_view chip, const TunedPlans& plans);

// The same where what streams is loaded before the kernel ahead has ended (load_tiles.cuh), for a few rows or columns
// against many and a short k. Nothing where the choice stays.
std::optional<GemmPlan> early_plan(const GemmChoice& choice, const GemmKind& kind, const GemmShape& shape,
                                   const ChipRates& rates);

}  // namespace wm::plan
