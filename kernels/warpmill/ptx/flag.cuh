// Flags in global memory between blocks: a word that one thread sets when what it and its group wrote before is there
// for the thread that sees the flag.
#pragma once

#include "warpmill/types.cuh"

namespace wm::flag {

// st.release.gpu: this thread's writes, and those ordered before it by a barrier, come before the flag.
WM_DEVICE void set(u32* flag, u32 value) {
  asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(global_address(flag)), "r"(value) : "memory");
}

// ld.acquire.gpu until the flag has this value: what came before it is then seen by this thread, and by others after a
// barrier.
WM_DEVICE void wait(const u32* flag, u32 value) {
  u32 seen;
  do {
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(global_address(flag)) : "memory");
  } while (seen != value);
}

}  // namespace wm::flag
