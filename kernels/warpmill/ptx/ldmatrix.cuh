// ldmatrix (sm_75): 8x8 matrices of 16-bit elements from shared memory into the fragments mma takes.
//
// The whole warp, converged. Lane 8i+j gives the address of row j of matrix i (16 bytes, aligned to 16); lanes past the
// last matrix give any valid address. Lane l gets elements (l/4, 2(l%4)) and the next of each matrix; transposed, those
// of its transpose.
#pragma once

#include "warpmill/types.cuh"

namespace wm::ldmatrix {

// ldmatrix.sync.aligned.m8n8.x1.shared.b16, .x2 and .x4: as many matrices as `into` has words.
template <int count>
WM_DEVICE void load(u32 (&into)[count], SharedAddress row) {
  static_assert(count == 1 || count == 2 || count == 4, "ldmatrix loads 1, 2 or 4 matrices");
  if constexpr (count == 1)
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(into[0]) : "r"(row.value) : "memory");
  if constexpr (count == 2)
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                 : "=r"(into[0]), "=r"(into[1])
                 : "r"(row.value)
                 : "memory");
  if constexpr (count == 4)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(into[0]), "=r"(into[1]), "=r"(into[2]), "=r"(into[3])
                 : "r"(row.value)
                 : "memory");
}

// The same with .trans.
template <int count>
WM_DEVICE void load_transposed(u32 (&into)[count], SharedAddress row) {
  static_assert(count == 1 || count == 2 || count == 4, "ldmatrix loads 1, 2 or 4 matrices");
  if constexpr (count == 1)
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];"
                 : "=r"(into[0])
                 : "r"(row.value)
                 : "memory");
  if constexpr (count == 2)
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                 : "=r"(into[0]), "=r"(into[1])
                 : "r"(row.value)
                 : "memory");
  if constexpr (count == 4)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(into[0]), "=r"(into[1]), "=r"(into[2]), "=r"(into[3])
                 : "r"(row.value)
                 : "memory");
}

}  // namespace wm::ldmatrix
