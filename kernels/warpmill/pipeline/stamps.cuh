// Stamps: what each warp of a kernel does, and when. A role says what it turns to, one line each time; that lasts until
// it says something else.
//
//   start_stamps();                          all threads, before the block's first barrier
//   ...
//   stamp<"load", "wait">(step);             by all lanes that are there; one of them records
//   const Stage stage = ring.acquire();
//   stamp<"load", "copy">(step);
//
// Compiled with WM_STAMPS only: without it nothing of this is left. A launch of a stamped kernel has stamp_shared_bytes
// more of dynamic shared memory, for the warps' counts.
#pragma once

#include "warpmill/pipeline/names.cuh"
#include "warpmill/pipeline/stamp_record.h"
#include "warpmill/ptx/special.cuh"

namespace wm {

#ifdef WM_STAMPS

extern "C" __device__ StampBuffer wm_stamps;  // the host sets it before the launch
__device__ StampBuffer wm_stamps;

namespace detail {
// How many records each warp has made.
WM_DEVICE u32* stamp_counts() {
  extern __shared__ u32 dynamic_shared[];
  return dynamic_shared + (special::dynamic_shared_bytes() - stamp_shared_bytes) / sizeof(u32);
}
}  // namespace detail

WM_DEVICE void start_stamps() {
  if (threadIdx.x < stamp_shared_bytes / sizeof(u32)) detail::stamp_counts()[threadIdx.x] = 0;
}

template <Name role, Name doing>
WM_DEVICE void stamp(u32 step) {
  static_assert(sizeof(role.text) <= 9 && sizeof(doing.text) <= 9, "names in stamps have at most 8 characters");
  if (threadIdx.x % 32 != __ffs(__activemask()) - 1) return;
  u32& count = detail::stamp_counts()[threadIdx.x / 32];
  if (count >= wm_stamps.records_per_warp) return;
  const u64 block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  const u64 warp = block * wm_stamps.warps_per_block + threadIdx.x / 32;
  reinterpret_cast<StampRecord*>(wm_stamps.records)[warp * wm_stamps.records_per_warp + count++] = {
      role.word(0), doing.word(0), special::clock64(), special::nanoseconds(), step, 1};
}

#else

WM_DEVICE void start_stamps() {}
template <Name role, Name doing>
WM_DEVICE void stamp(u32) {}

#endif

}  // namespace wm
