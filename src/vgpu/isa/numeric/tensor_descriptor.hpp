// The descriptors of tcgen05: of an instruction (types, sizes, orders) and of a matrix in shared memory.
#pragma once

#include <cstdint>
#include <string>

#include "vgpu/isa/numeric/descriptor.hpp"
#include "vgpu/isa/numeric/fragment.hpp"

namespace wm::vgpu::numeric {

enum class TensorKind : std::uint8_t { f16, tf32, f8f6f4, i8, mxf8f6f4, mxf4, mxf4nvf4 };
constexpr bool has_scales(TensorKind kind) { return kind >= TensorKind::mxf8f6f4; }
// Two elements of four bits in each byte, 64 along k.
constexpr bool is_packed(TensorKind kind) { return kind == TensorKind::mxf4 || kind == TensorKind::mxf4nvf4; }

// What surrounds an instruction descriptor and decides what it may say.
struct TensorForm {
  TensorKind kind = TensorKind::f16;
  int blocks = 1;  // .cta_group
  bool a_in_tensor_memory = false;
  int scale_group = 0;  // elements along k that share a scale, 16 or 32; 0: there are no scales

  int scales() const { return (is_packed(kind) ? 64 : 32) / scale_group; }  // of a row, along k
};

struct InstructionDescriptor {
  std::uint32_t bits = 0;

  std::uint32_t field(int from, int width) const { return bits >> from & ((1u << width) - 1); }
  int m() const { return static_cast<int>(field(24, 5)) * 16; }
  int n() const { return static_cast<int>(field(17, 6)) * 8; }
  bool negate_a() const { return field(13, 1) != 0; }
  bool negate_b() const { return field(14, 1) != 0; }
  bool a_mn_major() const { return field(15, 1) != 0; }
  bool b_mn_major() const { return field(16, 1) != 0; }
  bool saturate() const { return field(3, 1) != 0; }
  Element a(TensorKind kind) const { return element(kind, field(7, 3)); }
  Element b(TensorKind kind) const { return element(kind, field(10, 3)); }
  Sum sum(TensorKind kind) const { return has_scales(kind) ? Sum::f32 : static_cast<Sum>(field(4, 2)); }
  // Of kinds with scales: the first of a cell's four bytes that are used, and whether they are powers of two.
  std::uint32_t a_scale_byte() const { return field(29, 2); }
  std::uint32_t b_scale_byte() const { return field(4, 2); }
  bool scales_are_ue8m0() const { return field(23, 1) != 0; }

  // Why there is no such product, or none here; empty where there is. The other functions are for what passed it.
  std::string refusal(const TensorForm& form) const;

 private:
  std::string dense_refusal(const TensorForm& form) const;
  std::string scaled_refusal(const TensorForm& form) const;
  static Element element(TensorKind kind, std::uint32_t code);
};

// K-major or MN-major, in 16-byte chunks; the rules are those of wgmma's descriptor and one pattern more.
struct TensorDescriptor {
  MatrixDescriptor matrix;
  bool wide_atoms = false;  // 128 bytes in atoms of 32: MN-major tf32 alone

  static TensorDescriptor decode(std::uint64_t bits);
  // Why no matrix of `element`s lies like this; empty where it may, and for one of wgmma, which differs in bits 46-48.
  static bool is_of_wgmma(std::uint64_t bits) { return (bits >> 46 & 7) == 0; }
  static std::string refusal(std::uint64_t bits, Element element, bool mn_major);

  // 16 bytes of `row`, chunk 0 or 1 of the 32 that a step takes along k.
  std::uint32_t k_major(std::uint32_t row, std::uint32_t chunk) const { return matrix.k_major(row, chunk); }
  // Chunk `chunk` along rows (a chunk holds 16 bytes of neighbouring rows) at one k.
  std::uint32_t mn_major(std::uint32_t chunk, std::uint32_t k) const {
    if (!wide_atoms) return matrix.mn_major(chunk, k);
    const std::uint32_t linear =
        matrix.address + chunk / 8 * matrix.leading_bytes + k / 4 * matrix.stride_bytes + k % 4 * 128 + chunk % 8 * 16;
    return linear ^ (linear >> 7 & 3) << 5;
  }
};

}  // namespace wm::vgpu::numeric
