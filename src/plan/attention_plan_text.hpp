// An attention's plan in words and back: "128x176 s2 o1": queries of a tile (64 for each multiply group, twice that in
// a pair) by keys of a step, stages of K and V ("q2" behind them where Q has two as well), strips of the output in
// flight, "noturns" where groups do not queue their products, "early" where weights are made under the product before,
// "packed4" where a tile has so many queries of each of several heads, and "pair" where two blocks have a tile
// together. "256x128 s2 o1 tcgen05 fma3" is one for sm_100a: 128 queries to a group, and of 16 pairs of exponentials
// those that the FMA units make; "claim" where blocks take over the tiles of those that have not started, "share" where
// each has its part of them from the start.
#pragma once

#include <string>
#include <string_view>

#include "warpmill/attention/plan.h"

namespace wm::plan {

std::string text_of(const AttentionPlan& plan);

// What is left out is AttentionPlan's default. Throws invalid_argument and says what a plan looks like; whether it is
// possible is AttentionPlan::problem()'s to say.
AttentionPlan attention_plan_from_text(std::string_view text, const AttentionKind& kind = {});

}  // namespace wm::plan
