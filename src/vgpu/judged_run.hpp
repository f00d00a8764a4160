// A run under the judge's eyes.
#pragma once

#include "vgpu/machine/block.hpp"

namespace wm::vgpu {

// Whatever ends a run that has begun is one more finding, except its caller's wish, and those before it are kept. Where
// all that is wrong is that memory is read that nobody has written, the run is made again with other contents there:
// if its results are the same, that is a warning.
void run_judged(Run& run, const ProgramKernel& kernel, RunReport& report);

}  // namespace wm::vgpu
