// setmaxnreg (sm_90a): registers moved between warpgroups while the kernel runs.
#pragma once

#include "warpmill/types.cuh"

namespace wm::registers {

namespace detail {
template <int count>
inline constexpr bool legal = count >= 24 && count <= 256 && count % 8 == 0;
}  // namespace detail

// setmaxnreg.inc.sync.aligned.u32: all warps of a warpgroup; waits until the block's pool has enough. The compiler
// honours it only in a kernel with __launch_bounds__(threads, 1), each role in a branch of its own.
template <int count>
WM_DEVICE void increase_to() {
  static_assert(detail::legal<count>, "setmaxnreg: a multiple of 8 registers, 24 to 256");
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(count));
}

// setmaxnreg.dec.sync.aligned.u32: gives registers back to the pool.
template <int count>
WM_DEVICE void decrease_to() {
  static_assert(detail::legal<count>, "setmaxnreg: a multiple of 8 registers, 24 to 256");
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(count));
}

}  // namespace wm::registers
