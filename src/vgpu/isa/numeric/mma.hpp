// mma.sync of every dense shape and type of sm_80 and sm_90. Operands and results are rows of 32 lanes, one a register.
//
// Numbers are summed as in wgmma.hpp: f32 fused multiply-adds in order of k; f64 likewise in f64; integers exactly.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "vgpu/isa/numeric/chip_sum.hpp"

namespace wm::vgpu::numeric {

using Rows = std::span<std::uint32_t* const>;
using ConstRows = std::span<const std::uint32_t* const>;

struct MmaShape {
  int m = 16, n = 8, k = 16;
  Element a = Element::f16, b = Element::f16;
  Sum c = Sum::f32, d = Sum::f32;
  bool saturate = false;                // .satfinite of integers
  std::optional<ChipSum> as_chip = {};  // a chip's bits (hopper_mma_sum, ampere_mma_sum) rather than fast ones

  std::string refusal() const;  // why there is no such mma; empty where there is
  // Registers a thread, each a row.
  int a_registers() const { return m * k * bits_of(a) / 32 / 32; }
  int b_registers() const { return n * k * bits_of(b) / 32 / 32; }
  int c_registers() const { return m * n * (c == Sum::f16 ? 16 : 32) / 32 / 32; }
};

// d may be any of the operands' rows.
void mma(const MmaShape& shape, Rows d, ConstRows a, ConstRows b, ConstRows c);

// mma.m8n8k4 of f16, four products at once, each by eight lanes: i and i + 16 of a quad. Operands may be row- or
// column-major; C and D are f16 or f32.
struct QuadMmaShape {
  bool a_column_major = false, b_column_major = true;
  Sum c = Sum::f32, d = Sum::f32;
  std::string refusal() const;
};
void mma_m8n8k4_f16(const QuadMmaShape& shape, Rows d, ConstRows a, ConstRows b, ConstRows c);

// Integers of four bits, eight in a register: m8n8k32, m16n8k32, m16n8k64. Sums are exact, then wrap or saturate.
struct NibbleMmaShape {
  int m = 16, n = 8, k = 32;
  bool a_signed = true, b_signed = true, saturate = false;
  std::string refusal() const;
  int a_registers() const { return m * k / 8 / 32; }
  int b_registers() const { return n * k / 8 / 32; }
  int c_registers() const { return m * n / 32; }
};
void mma_nibbles(const NibbleMmaShape& shape, Rows d, ConstRows a, ConstRows b, ConstRows c);

// f64: m8n8k4, m16n8k4, m16n8k8, m16n8k16; rows of 64-bit registers.
std::string mma_f64_refusal(int m, int n, int k);
void mma_f64(int m, int k, std::span<std::uint64_t* const> d, std::span<const std::uint64_t* const> a,
             std::span<const std::uint64_t* const> b, std::span<const std::uint64_t* const> c);

}  // namespace wm::vgpu::numeric
