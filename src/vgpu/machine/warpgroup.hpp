// Four warps that multiply together. Each issues its share of a wgmma on its own; the product is of all four.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "vgpu/machine/op.hpp"

namespace wm::vgpu {

class Warp;

inline constexpr u32 warps_per_group = 4;

// What one warp says when it issues a wgmma.
struct MatrixIssue {
  const Op* op = nullptr;
  u32 frame = 0;     // first 32-bit row of the frame it was issued from
  u64 a = 0, b = 0;  // descriptors; a only where it lies in shared memory
  bool accumulate = true;
  u64 group = 0;  // of the warp's commit groups
};

class MatrixProduct;

struct Warpgroup {
  std::array<std::vector<MatrixIssue>, warps_per_group> issued;  // not yet met by the other warps' issues
  MatrixProduct* open = nullptr;  // the last product, while it has not begun and may take in another step
};

}  // namespace wm::vgpu
