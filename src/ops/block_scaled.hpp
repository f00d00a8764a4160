// Checks that quantize and gemm share.
#pragma once

#include <string_view>

#include "warpmill/block_scaled.hpp"

namespace wm::ops {

// Throws where a matrix cannot be what it says.
void check_block_scaled(const BlockScaledView& matrix, std::string_view name);

}  // namespace wm::ops
