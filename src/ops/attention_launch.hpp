// From an attention's problem and its plan to a launch: tensor maps, arguments and the grid.
#pragma once

#include "ops/attention_problem.hpp"
#include "warpmill/attention/arguments.h"
#include "warpmill/module.hpp"

namespace wm::ops {

struct PreparedAttention {
  LaunchConfig config;
  AttentionArguments arguments;
};
PreparedAttention prepare_launch(const Device& device, const AttentionProblem& problem, const AttentionPlan& plan);

}  // namespace wm::ops
