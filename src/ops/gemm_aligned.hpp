// Operands that the copy engine cannot read where they lie, copied to where it can: threads that bring them into shared
// memory element by element are several times slower than a copy and the engine (docs/gemm.md).
#pragma once

#include <cstddef>

#include "ops/gemm_problem.hpp"
#include "ops/kernels.hpp"
#include "warpmill/gemm/aligned_copy.h"

namespace wm::ops {

struct AlignedProblem {
  GemmProblem problem;  // with the operands where they are copied to, and all by the engine
  AlignedCopies copies;
  std::size_t bytes;  // that they take
};

// How much the copies of a problem take in the workspace; 0 where there is nothing to copy or it does not pay.
std::size_t aligned_bytes(const GemmProblem& problem);

// The same with the copies at `workspace`.
AlignedProblem aligned(const GemmProblem& problem, std::uint64_t workspace);

// The kind of the kernel that runs, after what is copied first.
GemmKind kind_to_run(const GemmProblem& problem);

KernelSource aligned_copy_source(DType element);
LaunchConfig aligned_copy_config(const AlignedCopies& copies, int multiprocessors);

}  // namespace wm::ops
