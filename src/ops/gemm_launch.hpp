// From a problem and its plan to launches: tensor maps, arguments and grids.
#pragma once

#include <memory>
#include <vector>

#include "ops/gemm_problem.hpp"
#include "plan/gemm_schedule.hpp"
#include "warpmill/gemm/arguments.h"
#include "warpmill/module.hpp"

namespace wm::ops {

struct PreparedLaunch {
  LaunchConfig config;
  GemmArguments arguments;
  std::unique_ptr<MatrixNumbers> numbers;  // of a listed batch
  std::unique_ptr<ScaleMaps> scale_maps;   // of a plan that brings scales by them
  std::size_t workspace_bytes;             // of a split plan
  std::size_t sum_bytes;                   // of one that spreads tiles
};

// Operands that the kernel ahead in the stream is known not to write.
struct EarlyOperands {
  bool a = false, b = false;
  bool operator==(const EarlyOperands&) const = default;
};

// One launch, or for a long list several; alpha, beta and the workspace are left to the call.
std::vector<PreparedLaunch> prepare_launches(const Device& device, const GemmProblem& problem, const GemmPlan& plan,
                                             EarlyOperands early);

}  // namespace wm::ops
