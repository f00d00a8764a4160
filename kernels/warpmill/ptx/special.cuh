// Special registers: who and where this thread is, and what time it is. Any thread.
#pragma once

#include "warpmill/types.cuh"

namespace wm::special {

// Constant for the life of a thread, so the compiler may read them once.
WM_DEVICE u32 lane() {
  u32 value;
  asm("mov.u32 %0, %%laneid;" : "=r"(value));
  return value;
}
WM_DEVICE u32 lanes_equal() {
  u32 value;
  asm("mov.u32 %0, %%lanemask_eq;" : "=r"(value));
  return value;
}
WM_DEVICE u32 lanes_below() {
  u32 value;
  asm("mov.u32 %0, %%lanemask_lt;" : "=r"(value));
  return value;
}
WM_DEVICE u32 lanes_up_to() {
  u32 value;
  asm("mov.u32 %0, %%lanemask_le;" : "=r"(value));
  return value;
}
WM_DEVICE u32 lanes_above() {
  u32 value;
  asm("mov.u32 %0, %%lanemask_gt;" : "=r"(value));
  return value;
}
WM_DEVICE u32 lanes_from() {
  u32 value;
  asm("mov.u32 %0, %%lanemask_ge;" : "=r"(value));
  return value;
}
WM_DEVICE u32 dynamic_shared_bytes() {
  u32 value;
  asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(value));
  return value;
}
WM_DEVICE u32 total_shared_bytes() {
  u32 value;
  asm("mov.u32 %0, %%total_smem_size;" : "=r"(value));
  return value;
}
WM_DEVICE u64 grid() {
  u64 value;
  asm("mov.u64 %0, %%gridid;" : "=l"(value));
  return value;
}
WM_DEVICE u32 multiprocessors() {
  u32 value;
  asm("mov.u32 %0, %%nsmid;" : "=r"(value));
  return value;
}

// May change while a thread runs (it can be moved): read anew each time.
WM_DEVICE u32 warp_slot() {
  u32 value;
  asm volatile("mov.u32 %0, %%warpid;" : "=r"(value));
  return value;
}
WM_DEVICE u32 multiprocessor() {
  u32 value;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(value));
  return value;
}
WM_DEVICE u32 clock() {
  u32 value;
  asm volatile("mov.u32 %0, %%clock;" : "=r"(value)::"memory");
  return value;
}
WM_DEVICE u64 clock64() {
  u64 value;
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(value)::"memory");
  return value;
}
// Nanoseconds on the chip's own clock, the same for all multiprocessors.
WM_DEVICE u64 nanoseconds() {
  u64 value;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(value)::"memory");
  return value;
}

}  // namespace wm::special
