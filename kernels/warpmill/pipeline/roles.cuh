// Roles: the warpgroups of a block take different work, and the registers follow the work.
#pragma once

#include "warpmill/ptx/registers.cuh"
#include "warpmill/types.cuh"

namespace wm {

inline constexpr u32 warpgroup_threads = 128;

// Which warpgroup of the block this thread is in. The shuffle tells the compiler that the whole warp agrees.
WM_DEVICE u32 warpgroup() { return __shfl_sync(0xffffffffu, threadIdx.x / warpgroup_threads, 0); }
WM_DEVICE u32 warp_of_warpgroup() { return __shfl_sync(0xffffffffu, threadIdx.x % warpgroup_threads / 32, 0); }
WM_DEVICE u32 thread_of_warpgroup() { return threadIdx.x % warpgroup_threads; }

// The number that all lanes of the warp have. It comes in a uniform register, and so does all that is made of it:
// descriptors of products, which would else be moved there one by one. The whole warp.
WM_DEVICE u32 uniform(u32 number) {
  u32 of_warp;
  asm volatile("redux.sync.or.b32 %0, %1, 0xffffffff;" : "=r"(of_warp) : "r"(number));
  return of_warp;
}

}  // namespace wm
