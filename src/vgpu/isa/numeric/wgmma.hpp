// wgmma: a warpgroup's product D (64 x n) = A (64 x k) * B (k x n) + D, operands in shared memory as their descriptors
// say, accumulators as the registers of four warps.
//
// Products are exact. Sums are f32 fused multiply-adds in order of k, each within 2^-24 of the running sum: with S the
// sum of all |a * b| and |d|, a result differs from the true one by at most k * 2^-24 * S. The chip's own sums differ
// from it by up to (k / 8) * 2^-22 * S, those of 8-bit floats by 2^-12 * S a step; WgmmaShape::as_chip gives exactly
// them, some hundred times slower. Integers are exact.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "vgpu/isa/numeric/descriptor.hpp"
#include "vgpu/isa/numeric/fragment.hpp"
#include "vgpu/isa/numeric/operands.hpp"

namespace wm::vgpu::numeric {

struct WgmmaShape {
  int n = 8;
  Element a = Element::bf16, b = Element::bf16;
  Sum sum = Sum::f32;
  bool saturate = false;  // .satfinite of integers
  bool as_chip = false;   // the chip's bits (chip_sum.hpp) rather than fast ones

  int k() const { return slice_elements(a); }
  int registers() const { return sum == Sum::f16 ? n / 4 : n / 2; }  // of D, a thread
  std::string refusal() const;                                       // why there is no such wgmma; empty where there is
};

// One wgmma.mma_async.
struct WgmmaStep {
  MatrixDescriptor b;
  MatrixDescriptor a;
  // A in registers: [warp][register], rows of 32 lanes; null: in shared memory.
  std::array<std::array<const std::uint32_t*, 4>, 4> a_rows{};
  bool a_mn_major = false, b_mn_major = false;  // imm-trans-a, imm-trans-b
  bool negate_a = false, negate_b = false;      // imm-scale of -1
  bool accumulate = true;                       // scale-d

  bool a_in_registers() const { return a_rows[0][0] != nullptr; }
  std::string refusal(const WgmmaShape& shape) const;
};

// The accumulators: register r of a warp is the row rows[r] of its file.
struct WgmmaRegisters {
  std::array<std::uint32_t*, 4> files{};
  std::span<const std::uint32_t> rows;
};

// Runs steps that follow one another on the same accumulators: the same result as one by one, and faster. `shared` is
// the block's shared memory from address 0. Where a step would read outside it, that step writes nothing.
std::optional<OutOfWindow> wgmma(const WgmmaShape& shape, std::span<const WgmmaStep> steps,
                                 std::span<const std::byte> shared, const WgmmaRegisters& registers);

}  // namespace wm::vgpu::numeric
