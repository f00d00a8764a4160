// The attention kernels' source for a plan.
#pragma once

#include "ops/attention_problem.hpp"
#include "ops/kernels.hpp"
#include "warpmill/attention/plan.h"

namespace wm::ops {

KernelSource attention_source(const AttentionPlan& plan, const AttentionText& text = {});

// What the compiler says against the caller's expressions, in his words and with his column; empty where it says
// nothing of them.
std::string expression_error(const AttentionText& text, std::string_view log);

}  // namespace wm::ops
