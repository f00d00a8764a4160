// A plan in words and back: "128x256 s4 c2x1", and after it, where they hold, "g1", "pingpong" or "multistage", or
// "mma" (which is multistage, with mma.sync), "tcgen05" (sums in tensor memory) or "pair" (which is tcgen05, with two
// blocks that multiply together), "claim" (tiles are taken over from clusters that have not started), "split" or
// "split2" (pieces), "exchange", "b8" (a band of 8 tile rows). The form of the command line, of the benchmark's tables
// and of the file of tuned plans.
#pragma once

#include <string>
#include <string_view>

#include "plan/gemm_ranking.hpp"

namespace wm::plan {

std::string text_of(const GemmPlan& plan);

// What is left out: as many stages as fit, cluster 1x1, two multiply groups. Throws
// invalid_argument and says what a plan looks like; whether it fits the chip is GemmPlan::problem()'s to say.
GemmPlan plan_from_text(std::string_view text, const GemmKind& kind = {});

// "4096x4096x4096": m, n and k.
GemmShape shape_from_text(std::string_view text);

}  // namespace wm::plan
