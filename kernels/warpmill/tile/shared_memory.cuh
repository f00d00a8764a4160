// A block's dynamic shared memory.
#pragma once

#include "warpmill/types.cuh"

namespace wm {

// Laid out as `Shared`, whose tiles begin where their swizzle does: at a multiple of 1024 bytes.
template <class Shared>
WM_DEVICE Shared& shared_memory() {
  static_assert(alignof(Shared) <= 1024, "dynamic shared memory begins at a multiple of 1024 bytes");
  extern __shared__ __align__(1024) u8 memory[];
  return *reinterpret_cast<Shared*>(memory);
}

}  // namespace wm
