// The GEMM kernel's source for a plan.
#pragma once

#include <string>

#include "warpmill/gemm/plan.h"
#include "warpmill/jit.hpp"

namespace wm::ops {

// The chip gets a cubin, and lost speed is an error; the virtual GPU gets PTX with source lines.
enum class Target { chip, virtual_gpu };

std::string expression(const GemmPlan& plan);  // the kernel's name in C++: "wm::gemm_sm90<...>"
jit::Program compile_gemm(const GemmPlan& plan, const Architecture& arch, Target target);

}  // namespace wm::ops
