// What the data sheet of sm_100a says of layouts and numbers, written down a second time for the tests.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

namespace wm::vgpu::testing::sheet {

using std::uint32_t;
using std::uint64_t;

enum class Type { f16, bf16, tf32, e4m3, e5m2, s8, u8, e2m3, e3m2, e2m1, ue8m0, ue4m3 };

inline int bits_of(Type type) {
  switch (type) {
    case Type::tf32: return 32;
    case Type::f16:
    case Type::bf16: return 16;
    case Type::e2m3:
    case Type::e3m2: return 6;
    case Type::e2m1: return 4;
    default: return 8;
  }
}
inline int bytes_of(Type type) { return bits_of(type) < 8 ? 1 : bits_of(type) / 8; }

// sign, exponent and fraction of a small float.
inline double small_float(uint32_t bits, int exponent_bits, int fraction_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = static_cast<int>(bits >> fraction_bits) & ((1 << exponent_bits) - 1);
  const double fraction = static_cast<double>(bits & ((1u << fraction_bits) - 1)) / (1 << fraction_bits);
  const double size = exponent == 0 ? std::ldexp(fraction, 1 - bias) : std::ldexp(1 + fraction, exponent - bias);
  return bits >> (exponent_bits + fraction_bits) & 1 ? -size : size;
}

inline double value(Type type, uint32_t bits) {
  switch (type) {
    case Type::f16: return small_float(bits, 5, 10);
    case Type::bf16: return small_float(bits, 8, 7);
    case Type::tf32: return small_float(bits >> 13, 8, 10);
    case Type::e4m3: return small_float(bits, 4, 3);
    case Type::e5m2: return small_float(bits, 5, 2);
    case Type::s8: return static_cast<std::int8_t>(bits);
    case Type::u8: return bits;
    case Type::e2m3: return small_float(bits, 2, 3);
    case Type::e3m2: return small_float(bits, 3, 2);
    case Type::e2m1: return small_float(bits, 2, 1);
    case Type::ue8m0: return std::ldexp(1.0, static_cast<int>(bits) - 127);
    case Type::ue4m3: return small_float(bits, 4, 3);
  }
  return 0;
}
inline double value(Type type, const std::uint8_t* at) {
  uint32_t bits = 0;
  std::memcpy(&bits, at, static_cast<std::size_t>(bytes_of(type)));
  return value(type, bits);
}
// Of elements of fewer than 8 bits: element `i` of those that are packed from `at` on.
inline double packed_value(Type type, const std::uint8_t* at, uint32_t i) {
  const uint32_t first = i * static_cast<uint32_t>(bits_of(type));
  uint32_t bits = at[first / 8];
  if (first % 8 + static_cast<uint32_t>(bits_of(type)) > 8) bits |= uint32_t{at[first / 8 + 1]} << 8;
  return value(type, bits >> first % 8 & ((1u << bits_of(type)) - 1));
}
// Of an element that has a byte of tensor memory to itself: 4 bits in its middle, 0b00xxxx00, 6 in its low bits.
inline double value_in_container(Type type, const std::uint8_t* at) {
  return value(type, type == Type::e2m1 ? uint32_t{*at} >> 2 : *at);
}

// A matrix in shared memory: `swizzle` as in bits 61-63 of its descriptor.
struct Layout {
  bool mn_major = false;
  int swizzle = 0;
  uint32_t lbo = 0, sbo = 0;

  uint64_t descriptor() const {
    return uint64_t{lbo >> 4} << 16 | uint64_t{sbo >> 4} << 32 | uint64_t{1} << 46 |
           static_cast<uint64_t>(swizzle) << 61;
  }
  // Byte of element (mn, k) of `es` bytes, from a start that is a multiple of 1024.
  uint32_t byte(uint32_t mn, uint32_t k, uint32_t es) const {
    const uint32_t w = swizzle == 6 ? 32 : swizzle == 4 ? 64 : 128, t = 16 / es;
    uint32_t at = 0;
    if (!mn_major && swizzle == 0)
      at = mn / 8 * sbo + mn % 8 * 16 + k * es / 16 * lbo + k * es % 16;
    else if (!mn_major)
      at = mn / 8 * sbo + mn % 8 * w + k * es;
    else if (swizzle == 0)
      at = mn / t * sbo + k / 8 * lbo + k % 8 * 16 + mn % t * es;
    else if (swizzle == 1)
      at = mn / (w / es) * lbo + k / 4 * sbo + k % 4 * 128 + mn % (w / es) * es;
    else
      at = mn / (w / es) * lbo + k / 8 * sbo + k % 8 * w + mn % (w / es) * es;
    switch (swizzle) {
      case 1: return at ^ (at >> 7 & 3) << 5;
      case 2: return at ^ (at >> 7 & 7) << 4;
      case 4: return at ^ (at >> 7 & 3) << 4;
      case 6: return at ^ (at >> 7 & 1) << 4;
      default: return at;
    }
  }
};

struct Cell {
  uint32_t lane, column;
  bool operator==(const Cell&) const = default;
};

// Where D[i][j] lies, i counted within the block.
inline Cell cell_of_d(int blocks, int m, int n, uint32_t i, uint32_t j) {
  if (m == 128 * blocks) return {i, j};
  if (blocks == 1) return {i % 16 + 32 * (i / 16), j};
  const uint32_t half = static_cast<uint32_t>(n) / 2;
  return {i % 64 + 64 * (j / half), j % half};
}

// Where the scales of row i of A, or of row i of B (N x K), lie: a cell, and how often it is repeated 32 lanes on.
struct ScaleCells {
  Cell first;
  uint32_t copies;
};
inline ScaleCells cells_of_scales(bool of_b, int blocks, int m, int n, uint32_t i) {
  if (!of_b || blocks == 1 || m == 256) return {{i % 32, i / 32}, 4};
  const uint32_t half = static_cast<uint32_t>(n) / 2;
  return {{i % half % 32 + 64 * (i / half), i % half / 32}, 2};
}

// Shapes of ld and st: lane t, register r.
enum class Shape { b32x32, b16x64, b16x128, b16x256, b16x32x2 };
inline Cell cell_of_register(Shape shape, uint32_t t, uint32_t r, uint32_t imm) {
  switch (shape) {
    case Shape::b32x32: return {t, r};
    case Shape::b16x64: return {t / 4 + 8 * (t % 2), 2 * r + t / 2 % 2};
    case Shape::b16x128: return {t / 4 + 8 * (r % 2), 4 * (r / 2) + t % 4};
    case Shape::b16x256: return {t / 4 + 8 * (r / 2 % 2), 8 * (r / 4) + 2 * (t % 4) + r % 2};
    case Shape::b16x32x2: return {t % 16, r + t / 16 * imm};
  }
  return {};
}

}  // namespace wm::vgpu::testing::sheet
