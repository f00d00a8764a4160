// What a tcgen05 product is told in numbers: where an operand lies in shared memory, and what is multiplied. Plain C++,
// for host and device, so that every bit can be computed and tested without a chip.
#pragma once

#include "warpmill/shared_types.h"

namespace wm::tcgen05 {

// The layouts of shared memory that the tensor cores read; the same words as a tensor map's swizzle.
enum class Swizzle : unsigned char { none = 0, bytes128_atoms32 = 1, bytes128 = 2, bytes64 = 4, bytes32 = 6 };

// How an operand lies, wherever it begins. K-major: `stride` is from 8 rows to the next 8; `leading`, without swizzle
// only, from 16 bytes of k to the next 16. MN-major: with a swizzle `leading` is from one swizzle width of m or n to
// the next and `stride` from 8 rows of k (with atoms of 32 bytes, 4) to the next; without, `stride` is along m or n and
// `leading` along k. Bytes, multiples of 16.
struct OperandLayout {
  unsigned leading, stride;
  Swizzle swizzle;

  constexpr bool operator==(const OperandLayout&) const = default;
  // The descriptor of an operand that begins at `address` of the window of shared memory. The block's rank in the
  // cluster, above the lower 18 bits, drops out: every block reads its own shared memory.
  constexpr unsigned long long at(unsigned address) const {
    const auto field = [](unsigned bytes) { return static_cast<unsigned long long>((bytes & 0x3ffffu) >> 4); };
    return field(address) | field(leading) << 16 | field(stride) << 32 | version |
           static_cast<unsigned long long>(swizzle) << 61;
  }
  static constexpr unsigned long long version = 1ull << 46;  // of the descriptor; Hopper's is 0
};

// Of a tile that a SharedTile or an OperandTile holds: rows of one swizzle width of 128 bytes.
constexpr OperandLayout k_major_layout() { return {0, 8 * 128, Swizzle::bytes128}; }
// A row for each of `k`, and spans of one width beside each other along m or n. tf32 has no such layout here: it wants
// atoms of 32 bytes.
constexpr OperandLayout mn_major_layout(int k) { return {static_cast<unsigned>(k) * 128, 8 * 128, Swizzle::bytes128}; }
// The bytes from one product of 32 bytes along k to the next: inside the swizzle's width, or so many rows further.
constexpr unsigned k_step_bytes(Major major, int element_bytes) {
  return major == Major::k ? 32 : static_cast<unsigned>(32 / element_bytes) * 128;
}

// The kinds of product: what A and B are made of. K is 32 bytes of each.
enum class Kind : unsigned char { f16, tf32, f8f6f4, i8 };

constexpr Kind kind_of(DType operand) {
  switch (operand) {
    case DType::bf16:
    case DType::f16: return Kind::f16;
    case DType::tf32: return Kind::tf32;
    case DType::i8:
    case DType::u8: return Kind::i8;
    default: return Kind::f8f6f4;
  }
}

// A type's number in the instruction descriptor, within its kind.
constexpr unsigned type_number(DType operand) {
  switch (operand) {
    case DType::bf16:
    case DType::e5m2:
    case DType::i8: return 1;
    case DType::tf32: return 2;
    default: return 0;  // f16, e4m3, u8
  }
}

// What is multiplied. `m` of both blocks where two multiply together.
struct Product {
  DType a = DType::bf16, b = DType::bf16;
  DType sums = DType::f32;  // or f16 (of f16 and 8-bit floats), or i32 (of integers)
  Major a_major = Major::k, b_major = Major::k;
  int m = 128, n = 256;
  bool negate_a = false, negate_b = false, saturate = false;

  // The instruction descriptor.
  constexpr unsigned bits() const {
    const unsigned sum = sums == DType::f16 ? 0 : sums == DType::f32 ? 1 : 2;
    return static_cast<unsigned>(saturate) << 3 | sum << 4 | type_number(a) << 7 | type_number(b) << 10 |
           static_cast<unsigned>(negate_a) << 13 | static_cast<unsigned>(negate_b) << 14 |
           static_cast<unsigned>(a_major == Major::mn) << 15 | static_cast<unsigned>(b_major == Major::mn) << 16 |
           static_cast<unsigned>(n / 8) << 17 | static_cast<unsigned>(m / 16) << 24;
  }
  // What is wrong with it for a product of one block or of two, or nullptr. ptxas cannot see it, and a chip says
  // nothing.
  constexpr const char* problem(int blocks) const {
    const Kind kind = kind_of(a);
    const bool integers = kind == Kind::i8;
    if (kind_of(b) != kind || (kind == Kind::f16 && a != b)) return "A and B are of one kind, and 16-bit floats equal";
    if (sums != DType::f16 && sums != DType::f32 && sums != DType::i32) return "sums are f32, f16 or i32";
    if (integers != (sums == DType::i32)) return "integers, and only they, have sums of i32";
    if (sums == DType::f16 && (a == DType::bf16 || kind == Kind::tf32))
      return "only f16 and 8-bit floats have sums of f16";
    if (m != 64 * blocks && m != 128 * blocks) return "M is 64 or 128 for each block";
    if (n < 8 * blocks || n > 256 || n % (8 * blocks)) return "N is a multiple of 8 up to 256; of 16 for two blocks";
    if (integers && (blocks == 2 ? n % 32 != 0 : n > 32 ? n % 16 != 0 : n == 24))
      return "of integers N is 8, 16, 32 or a multiple of 16; of 32 for two blocks";
    if (kind == Kind::tf32 && (a_major == Major::mn || b_major == Major::mn))
      return "MN-major tf32 takes a swizzle with atoms of 32 bytes, which is not served";
    if (kind != Kind::f16 && b_major == Major::mn && n % (16 * blocks))
      return "of an MN-major B of 8-bit elements N is a multiple of 16; of 32 for two blocks";
    if (integers && (negate_a || negate_b)) return "integers cannot be negated";
    if (!integers && saturate) return "only integer sums saturate";
    return nullptr;
  }
};

// The kinds of product with scales, and how many elements along k share one. K is 32 bytes of mxf8f6f4 and 64 elements
// of the others, of which two lie in each byte.
enum class ScaledKind : unsigned char { mxf8f6f4, mxf4, mxf4nvf4_by_32, mxf4nvf4_by_16 };

constexpr int scales_along_k(ScaledKind kind) {
  return kind == ScaledKind::mxf8f6f4 ? 1 : kind == ScaledKind::mxf4nvf4_by_16 ? 4 : 2;
}

// What they multiply. Of mxf8f6f4 elements of fewer than 8 bits lie sixteen by sixteen at the start of 16 bytes.
enum class Narrow : unsigned char { e4m3 = 0, e5m2 = 1, e2m3 = 3, e3m2 = 4, e2m1 = 5 };

struct ScaledProduct {
  ScaledKind kind = ScaledKind::mxf8f6f4;
  Narrow a = Narrow::e4m3, b = Narrow::e4m3;
  bool ue4m3 = false;  // the scales; otherwise ue8m0, powers of two
  Major a_major = Major::k, b_major = Major::k;
  int m = 128, n = 256;
  int a_byte = 0, b_byte = 0;  // of a cell of scales: the first that is used
  bool negate_a = false, negate_b = false;

  // The instruction descriptor.
  constexpr unsigned bits() const {
    const auto type = [&](Narrow operand) { return kind == ScaledKind::mxf8f6f4 ? static_cast<unsigned>(operand) : 1; };
    return static_cast<unsigned>(b_byte) << 4 | type(a) << 7 | type(b) << 10 | static_cast<unsigned>(negate_a) << 13 |
           static_cast<unsigned>(negate_b) << 14 | static_cast<unsigned>(a_major == Major::mn) << 15 |
           static_cast<unsigned>(b_major == Major::mn) << 16 | static_cast<unsigned>(n / 8) << 17 |
           static_cast<unsigned>(!ue4m3) << 23 | static_cast<unsigned>(m / 16) << 24 |
           static_cast<unsigned>(a_byte) << 29;
  }
  // What is wrong with it for a product of one block or of two, or nullptr.
  constexpr const char* problem(int blocks) const {
    const bool packed = kind != ScaledKind::mxf8f6f4;
    const auto bytes = [](Narrow operand) { return operand == Narrow::e4m3 || operand == Narrow::e5m2; };
    if (packed && (a != Narrow::e2m1 || b != Narrow::e2m1)) return "mxf4 and mxf4nvf4 multiply e2m1";
    if ((a_major == Major::mn && !bytes(a)) || (b_major == Major::mn && !bytes(b)))
      return "elements of fewer than 8 bits are K-major";
    if (ue4m3 && kind != ScaledKind::mxf4nvf4_by_16) return "only mxf4nvf4 with a scale for 16 elements has ue4m3";
    if (m != 128 && m != 128 * blocks) return "with scales M is 128, or 256 of two blocks";
    if (n < 8 * blocks || n > 256 || n % (8 * blocks)) return "N is a multiple of 8 up to 256; of 16 for two blocks";
    if (b_major == Major::mn && n % (16 * blocks))
      return "of an MN-major B of 8-bit elements N is a multiple of 16; of 32 for two blocks";
    const int scales = scales_along_k(kind);
    if (a_byte < 0 || b_byte < 0 || a_byte > 4 - scales || b_byte > 4 - scales || a_byte % scales || b_byte % scales)
      return "a row's scales begin at a multiple of their number, and lie in one cell";
    return nullptr;
  }
};

// Scales in shared memory, as tcgen05.cp with Copied::rows32_bytes16_everywhere brings them to four columns: 512 bytes
// for 128 rows and four groups along k.
inline constexpr unsigned scale_bytes = 512;
constexpr unsigned scale_offset(unsigned row, unsigned group) { return row % 32 * 16 + row / 32 * 4 + group; }
constexpr OperandLayout scale_layout() { return {0, 128, Swizzle::none}; }

}  // namespace wm::tcgen05
