// Launches: what is asked for is checked here, and run by the stream's thread.
#pragma once

#include <cstddef>
#include <optional>

#include "cudart/module.hpp"
#include "cudart/operation.hpp"

namespace wm::cudart {

struct LaunchRequest {
  Kernel* kernel = nullptr;
  Dim3 grid, block;
  std::optional<Dim3> cluster{};  // none: the kernel's own, or none at all
  std::size_t shared_bytes = 0;
  bool cooperative = false;
  int device = 0;
  void** arguments = nullptr;  // one pointer for each parameter
  void** extra = nullptr;      // CU_LAUNCH_PARAM_*, in their place
};
// Checked, with the arguments' values taken. Fails as the chip's runtime does.
KernelLaunch prepare(const LaunchRequest& request);

// To its end, under the judge's eyes where that is wanted.
void run_kernel(const KernelLaunch& launch);

// How many blocks fit on a multiprocessor, 0 where none does.
int blocks_per_multiprocessor(Kernel& kernel, int threads, std::size_t shared_bytes);

}  // namespace wm::cudart
