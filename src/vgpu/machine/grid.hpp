// Running a whole launch: which clusters are resident, and which host thread runs which.
#pragma once

#include "vgpu/machine/block.hpp"

namespace wm::vgpu {

// How many blocks fit on one multiprocessor at a time; throws launch, in words, where not even one does.
u32 blocks_per_multiprocessor(const Chip& chip, u32 threads, u32 shared_bytes, const Function& entry);

// Refuses what cannot be launched; fills in the rest of the run.
void check_shape(Run& run, const ProgramKernel& kernel);

// To the end, or to the first error of any block, which it throws; what was printed until then is in the report.
void run_grid(Run& run, RunReport& report);

}  // namespace wm::vgpu
