// The GEMM kernels' source for a plan.
#pragma once

#include <string>

#include "ops/kernels.hpp"
#include "warpmill/gemm/plan.h"

namespace wm::ops {

// `activation` is the caller's own function of x where the plan's kind says so, else empty.
KernelSource gemm_source(const GemmPlan& plan, const std::string& activation = {});

}  // namespace wm::ops
