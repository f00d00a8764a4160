// The scales of tcgen05.mma's block-scaled kinds: bytes in tensor memory, one for each row of A (column of B) and group
// of elements along k.
//
// The scales of row m are bytes of the cell in column m / 32, lane m % 32, and each 32 lanes hold a copy. Where each of
// two blocks has 64 rows of D, the upper 64 lanes hold those of B's second half, and that half begins in the first
// column again.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "vgpu/machine/tensor_memory.hpp"

namespace wm::vgpu::numeric {

struct TensorShape;

struct TensorScales {
  TensorAddress a, b;
  std::uint32_t a_byte = 0, b_byte = 0;  // of a cell: the first that is used
  bool ue8m0 = true;                     // powers of two; otherwise ue4m3
  int group = 32;                        // elements along k that share one
};

// Columns of tensor memory that A's scales take, and how many of B's a lane has.
std::uint32_t columns_of_a_scales(const TensorShape& shape);
std::uint32_t columns_of_b_scales(const TensorShape& shape, std::uint32_t lane);

// Why these are no scales, in one block: copies that differ, or numbers that there are not. Empty where they are.
std::string refusal_of_scales(const TensorShape& shape, const TensorScales& scales, TensorMemory& memory);

// Multiplies what one step has in panels (panel.hpp) with its scales. `rows`: sixteen rows of A, [k][64], from row
// `first` on. `columns`: eight columns of B, [k][8].
void scale_rows(const TensorShape& shape, const TensorScales& scales, TensorMemory& memory, std::uint32_t first,
                float* rows);
void scale_columns(const TensorShape& shape, const TensorScales& scales, TensorMemory& memory, std::uint32_t first,
                   float* columns);

}  // namespace wm::vgpu::numeric
