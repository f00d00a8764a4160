// tcgen05.mma: D (m x n) = A (m x k) * B (k x n) + D, D in tensor memory, A there or in shared memory, B in shared
// memory; one block's, or a pair's, of which each block has half of the rows of A and D and half of the columns of B.
//
// Products are exact and sums f32 fused multiply-adds in order of k, as in wgmma.hpp; integers are exact. How the chip
// adds is specified by nobody. With scales, operands are multiplied with theirs first, in f32, which is exact where the
// result is a number of f32.
#pragma once

#include <array>
#include <optional>
#include <span>

#include "vgpu/isa/numeric/tensor_descriptor.hpp"
#include "vgpu/isa/numeric/tensor_scales.hpp"
#include "vgpu/isa/numeric/wgmma.hpp"
#include "vgpu/machine/tensor_memory.hpp"

namespace wm::vgpu::numeric {

struct TensorShape {
  Element a = Element::bf16, b = Element::bf16;
  Sum sum = Sum::f32;
  bool saturate = false;
  int blocks = 1;
  int m = 128, n = 8;
  TensorAddress d;
  std::array<std::uint32_t, 8>
      kept{};  // lanes of D that are not written: four words a block, bit 0 of the first lane 0

  int k() const { return slice_elements(a); }
  int rows() const { return m / blocks; }  // of one block
  // 64 rows of each of two blocks: the second half of D's columns lies in the upper lanes.
  bool halves() const { return blocks == 2 && m == 128; }
  // The first lane of D for rows 16 * `sixteen` of a block and columns from 8 * `eight` on, and its first column.
  TensorAddress place(int sixteen, int eight) const;
  bool operator==(const TensorShape&) const = default;
};

// One tcgen05.mma.
struct TensorStep {
  TensorDescriptor a, b;
  std::optional<TensorAddress> a_cells;  // where A lies in tensor memory
  bool a_mn_major = false, b_mn_major = false;
  bool negate = false;     // A's or B's numbers; both is neither
  bool accumulate = true;  // false: D is not read
  int scale = 0;           // D is first divided by 2^scale
  std::optional<TensorScales> scales;
};

// What one block brings.
struct TensorBlock {
  std::span<const std::byte> shared;  // from address 0
  TensorMemory* memory = nullptr;
};

// Why a step cannot be done with what tensor memory holds: copies, of A or of scales, that differ, or bits around the
// elements of A that are not zeros. What the chip makes of them nobody says.
std::string refusal_of_cells(const TensorShape& shape, const TensorStep& step, std::span<const TensorBlock> blocks);

// Runs steps that follow one another on the same D: the same result as one by one, and faster. Where a step would read
// outside of shared memory, that step writes nothing.
std::optional<OutOfWindow> tensor_product(const TensorShape& shape, std::span<const TensorStep> steps,
                                          std::span<const TensorBlock> blocks);

}  // namespace wm::vgpu::numeric
