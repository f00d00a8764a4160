// The attention kernels' source for a plan.
#pragma once

#include "ops/kernels.hpp"
#include "warpmill/attention/plan.h"

namespace wm::ops {

KernelSource attention_source(const AttentionPlan& plan);

}  // namespace wm::ops
