// Tuned plans before the model.
#include "plan/gemm_choice.hpp"

#include "plan/gemm_plan_text.hpp"

namespace wm::plan {

std::optional<GemmChoice> choose(const GemmKind& kind, const GemmShape& shape, const ChipRates& rates,
                                 std::string_view chip) {
  return choose(kind, shape, rates, chip, known_plans());
}

std::optional<GemmChoice> choose(const GemmKind& kind, const GemmShape& shape, const ChipRates& rates,
                                 std::string_view chip, const TunedPlans& plans) {
  // Entries are of single products with D's rows contiguous.
  const TunedPlan* entry = shape.batch == 1 && !kind.d_columns ? plans.find(key_of(chip, kind, shape)) : nullptr;
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

}  // namespace wm::plan
