// elect (sm_90): one lane for work that a single thread does.
#pragma once

#include "warpmill/types.cuh"

namespace wm {

// elect.sync: true in one of `lanes` (the lowest, on the chips so far). All of them run it, converged. Unlike a test of
// the lane number it tells the compiler that one thread goes on, so addresses stay in uniform registers.
WM_DEVICE bool elect_one(u32 lanes = 0xffffffffu) {
  u32 elected;
  asm volatile("{.reg .pred p; elect.sync _|p, %1; selp.u32 %0, 1, 0, p;}" : "=r"(elected) : "r"(lanes));
  return elected;
}

// elect.sync: the number of the lane that elect_one would be true in.
WM_DEVICE u32 elected_lane(u32 lanes = 0xffffffffu) {
  u32 leader;
  asm volatile("{.reg .pred p; elect.sync %0|p, %1;}" : "=r"(leader) : "r"(lanes));
  return leader;
}

}  // namespace wm
