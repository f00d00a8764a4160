// griddepcontrol (sm_90): a kernel that starts while the one before it in the stream still runs.
#pragma once

#include "warpmill/types.cuh"

namespace wm::grid {

// griddepcontrol.launch_dependents: this block no longer holds back the next kernel's start; it starts when every block
// has said so or exited. Any thread of the block. Promises nothing about memory.
WM_DEVICE void launch_dependents() { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }

// griddepcontrol.wait: until the kernels before have ended and their writes are visible. Each thread that reads them.
WM_DEVICE void wait() { asm volatile("griddepcontrol.wait;" ::: "memory"); }

}  // namespace wm::grid
