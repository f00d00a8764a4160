// stmatrix (sm_90): 8x8 matrices of 16-bit elements from mma's fragments into shared memory; ldmatrix backwards.
//
// The whole warp, converged. Lane 8i+j gives the address of row j of matrix i (16 bytes, aligned to 16). The stores are
// ordinary ones: a TMA store of them needs fence::proxy_async_shared.
#pragma once

#include "warpmill/types.cuh"

namespace wm::stmatrix {

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
inline constexpr bool available = false;
#else
inline constexpr bool available = true;
#endif

// stmatrix.sync.aligned.m8n8.x1.shared.b16, .x2 and .x4: as many matrices as `from` has words.
template <int count>
WM_DEVICE void store(SharedAddress row, const u32 (&from)[count]) {
  static_assert(count == 1 || count == 2 || count == 4, "stmatrix stores 1, 2 or 4 matrices");
  if constexpr (count == 1)
    asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};" ::"r"(row.value), "r"(from[0]) : "memory");
  if constexpr (count == 2)
    asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};" ::"r"(row.value), "r"(from[0]), "r"(from[1])
                 : "memory");
  if constexpr (count == 4)
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(row.value), "r"(from[0]),
                 "r"(from[1]), "r"(from[2]), "r"(from[3])
                 : "memory");
}

// The same with .trans.
template <int count>
WM_DEVICE void store_transposed(SharedAddress row, const u32 (&from)[count]) {
  static_assert(count == 1 || count == 2 || count == 4, "stmatrix stores 1, 2 or 4 matrices");
  if constexpr (count == 1)
    asm volatile("stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%0], {%1};" ::"r"(row.value), "r"(from[0])
                 : "memory");
  if constexpr (count == 2)
    asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1, %2};" ::"r"(row.value), "r"(from[0]),
                 "r"(from[1])
                 : "memory");
  if constexpr (count == 4)
    asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(row.value),
                 "r"(from[0]), "r"(from[1]), "r"(from[2]), "r"(from[3])
                 : "memory");
}

}  // namespace wm::stmatrix
