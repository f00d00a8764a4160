// A plan in words and back: "128x256 s4 c2x1", and after it, where they hold, "g1", "pingpong" or "multistage", or "mma"
// (which is multistage, with mma.sync), "split" or "split2" (pieces), "exchange". The form of the command line, of the
// benchmark's tables and of the file of tuned plans.
#pragma once

#include <string>
#include <string_view>

#include "warpmill/gemm/plan.h"

namespace wm::plan {

std::string text_of(const GemmPlan& plan);

// The kind stays the default. What is left out: as many stages as fit, cluster 1x1, two multiply groups. Throws
// invalid_argument and says what a plan looks like; whether it fits the chip is GemmPlan::problem()'s to say.
GemmPlan plan_from_text(std::string_view text, const GemmKind& kind = {});

}  // namespace wm::plan
