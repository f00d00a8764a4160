// The GEMM kernels' source for a plan.
#pragma once

#include <string>

#include "warpmill/gemm/plan.h"
#include "warpmill/jit.hpp"

namespace wm::ops {

// The chip gets a cubin, the virtual GPU PTX with source lines. Lost speed is no error here: a rare epilogue with a
// plan by hand may spill and still be right; what is shipped is tested not to.
enum class Target { chip, virtual_gpu };

// What is compiled. Plans that differ only in what the host does with them have the same.
struct GemmSource {
  std::string text;        // includes the kernel and the instructions of its types
  std::string expression;  // the kernel's name in C++: "wm::gemm_sm90<...>"
};

// `activation` is the caller's own function of x where the plan's kind says so, else empty.
GemmSource gemm_source(const GemmPlan& plan, const std::string& activation = {});
jit::Program compile_gemm(const GemmSource& source, const Architecture& arch, Target target);

}  // namespace wm::ops
