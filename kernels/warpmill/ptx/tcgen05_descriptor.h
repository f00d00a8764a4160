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

}  // namespace wm::tcgen05
