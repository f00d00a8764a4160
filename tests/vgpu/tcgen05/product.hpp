// A product of tcgen05.mma for the tests: its descriptors, and where its operands lie by the sheet and by CuTe.
#pragma once

#include <string>
#include <vector>

#include "vgpu/tcgen05/cute.hpp"
#include "vgpu/tcgen05/kernels.hpp"
#include "vgpu/tcgen05/sheet.hpp"

namespace wm::vgpu::testing {

using sheet::Layout;
using sheet::Type;
using std::uint32_t;
using std::uint64_t;
using std::uint8_t;

// The image of a block's shared memory: A, B, scales of A and of B. Columns of A and of scales in tensor memory.
inline constexpr uint32_t image_bytes = 96 * 1024, b_begin = 32 * 1024, scales_begin = 64 * 1024,
                          b_scales_begin = scales_begin + 1024;
inline constexpr uint32_t a_cells = 256, a_scale_cells = 300, b_scale_cells = 321;

struct Product {
  const char* kind = "f16";
  Type a = Type::bf16, b = Type::bf16;
  int sum = 1;  // as in the descriptor: f16, f32, s32
  int blocks = 1, m = 128, n = 64;
  bool a_mn = false, b_mn = false;
  int a_swizzle = 2, b_swizzle = 2;
  bool a_in_tensor_memory = false;
  bool a_expanded = false;  // and tcgen05.cp brings it there from where it would lie in shared memory, 128 rows a block
  int d_lane = 0, d_column = 0;
  std::string options = "";  // after the predicate
  std::string mask = "";     // before it
  bool twice = false;        // and once more on top of the first sum
  int negate = 0;            // bits 13 and 14
  bool as_cute = false;      // A and B lie as CuTe lays them, under its descriptors
  int group = 0;             // elements along k that share a scale; 0: there are none
  Type scale = Type::ue8m0;
  int a_scale_byte = 0, b_scale_byte = 0;  // where a row's scales begin in their cell

  bool packed() const { return group != 0 && std::string(kind) != "mxf8f6f4"; }  // two elements in a byte
  uint32_t k() const { return packed() ? 64 : 32 / static_cast<uint32_t>(sheet::bytes_of(a)); }
  static uint32_t code(Type type) {
    switch (type) {
      case Type::bf16:
      case Type::e5m2:
      case Type::s8: return 1;
      case Type::tf32: return 2;
      case Type::e2m3: return 3;
      case Type::e3m2: return 4;
      case Type::e2m1: return 5;
      default: return 0;
    }
  }
  uint32_t descriptor() const {
    const uint32_t types = packed() ? 1u << 7 | 1u << 10 : code(a) << 7 | code(b) << 10;
    const uint32_t scales = static_cast<uint32_t>(b_scale_byte) << 4 | uint32_t{scale == Type::ue8m0} << 23 |
                            static_cast<uint32_t>(a_scale_byte) << 29;
    return (group == 0 ? static_cast<uint32_t>(sum) << 4 : scales) | types | static_cast<uint32_t>(negate) << 13 |
           uint32_t{a_mn} << 15 | uint32_t{b_mn} << 16 | static_cast<uint32_t>(n / 8) << 17 |
           static_cast<uint32_t>(m / 16) << 24;
  }
  static Layout layout(Type type, bool mn_major, int swizzle) {
    const uint32_t es = static_cast<uint32_t>(sheet::bytes_of(type)), k = 32 / es;
    const uint32_t w = swizzle == 6 ? 32 : swizzle == 4 ? 64 : 128;
    Layout l{mn_major, swizzle};
    if (!mn_major) {
      l.sbo = swizzle == 0 ? 256 : 8 * w;
      l.lbo = swizzle == 0 ? 128 : 0;
    } else if (swizzle == 0) {
      l.lbo = 128;
      l.sbo = 128 * (k / 8);
    } else if (swizzle == 1) {
      l.sbo = 512;
      l.lbo = 512 * (k / 4);
    } else {
      l.sbo = 8 * w;
      l.lbo = 8 * w * (k / 8);
    }
    return l;
  }
  // CuTe's layouts are the same for all types of a size.
  const char* cute_type(Type type) const {
    const int bytes = sheet::bytes_of(type);
    return packed() ? "e2m1" : bytes == 4 ? "tf32" : bytes == 2 ? "f16" : "s8";
  }
  const cute::Operand& cute_operand(Type type, bool mn_major, int swizzle, int rows) const {
    constexpr const char* swizzles[] = {"none", "128_32", "128", "", "64", "", "32"};
    return cute::vectors().operand(
        fmt::format("{} {} {} {}", cute_type(type), mn_major ? "mn" : "k", swizzles[swizzle], rows <= 128 ? 128 : 256));
  }
  // How a matrix lies: by the sheet, or by CuTe.
  struct Place {
    Layout layout;
    const cute::Operand* cute = nullptr;
    uint32_t es = 2;

    uint64_t descriptor() const { return cute != nullptr ? cute->descriptor : layout.descriptor(); }
    // With the offsets of CuTe's descriptor the sheet's formulas must lead to CuTe's bytes.
    uint32_t byte(uint32_t mn, uint32_t k) const {
      const uint32_t at = layout.byte(mn, k, es);
      if (cute != nullptr) {
        EXPECT_EQ(at, cute->byte(mn, k));
      }
      return at;
    }
  };
  Place place(Type type, bool mn_major, int swizzle, int rows) const {
    const uint32_t es = static_cast<uint32_t>(sheet::bytes_of(type));
    if (!as_cute) return {layout(type, mn_major, swizzle), nullptr, es};
    const cute::Operand& operand = cute_operand(type, mn_major, swizzle, rows);
    const auto offset = [&](int bit) { return static_cast<uint32_t>(operand.descriptor >> bit & 0x3fff) << 4; };
    EXPECT_EQ(operand.descriptor >> 61, static_cast<uint64_t>(swizzle));
    return {{mn_major, swizzle, offset(16), offset(32)}, &operand, es};
  }
  // Element (mn, k) of a matrix that begins at `from`.
  double element(const Place& where, Type type, const uint8_t* from, uint32_t mn, uint32_t at_k) const {
    if (packed()) return sheet::packed_value(type, from + where.byte(mn, at_k / 2), at_k % 2);
    if (sheet::bits_of(type) < 8) return sheet::packed_value(type, from + where.byte(mn, at_k / 16 * 16), at_k % 16);
    return sheet::value(type, from + where.byte(mn, at_k));
  }
  Place place_a() const { return place(a, a_mn, a_swizzle, m / blocks); }
  Place place_b() const { return place(b, b_mn, b_swizzle, n / blocks); }

  // A's elements of fewer than 8 bits have a byte each in tensor memory, the other bits of which are zeros.
  bool a_in_containers() const { return a_in_tensor_memory && !a_expanded && !packed() && sheet::bits_of(a) < 8; }
  // Two blocks of 64 rows each: A in tensor memory lies in the upper lanes once more.
  bool a_twice() const { return a_in_tensor_memory && blocks == 2 && m == 128; }
  // Byte of A's element (i, k) in tensor memory, 32 in each lane: by the sheet, and where CuTe is followed also by it.
  uint32_t byte_in_cells(uint32_t i, uint32_t at_k) const {
    const uint32_t es = static_cast<uint32_t>(sheet::bytes_of(a));
    const uint32_t byte = sheet::cell_of_d(blocks, m, n, i, 0).lane * 32 + at_k * es;
    if (as_cute) {
      const auto& walks = cute::vectors().walks(fmt::format("a {} {} {}", blocks, m, cute_type(a)));
      const sheet::Cell row = walks.at(0).at(i), along = walks.at(1).at(at_k * es / 4);
      EXPECT_EQ(byte, (row.lane + along.lane) * 32 + (row.column + along.column) * 4 + at_k * es % 4);
      if (a_twice()) {
        EXPECT_EQ(walks.at(0).at(i + 64), (sheet::Cell{row.lane + 64, row.column}));
      }
    }
    return byte + (blocks == 1 && m == 64 ? static_cast<uint32_t>(d_lane) * 32 : 0);
  }

  // Two blocks of 64 rows each: the scales of B's halves lie in different lanes.
  bool b_scales_in_halves() const { return blocks == 2 && m == 128; }
  // Byte of a row's scale `g` in the image of its block, as tcgen05.cp is to bring it to its cell.
  uint32_t scale_byte(bool of_b, uint32_t i, uint32_t g) const {
    const sheet::ScaleCells cells = sheet::cells_of_scales(of_b, blocks, m, n, i);
    const uint32_t row = cells.first.lane % 32 + (cells.copies == 2 ? cells.first.lane / 64 * 32 : 0);
    const uint32_t first = static_cast<uint32_t>(of_b ? b_scale_byte : a_scale_byte);
    if (as_cute) expect_cute_scale(of_b, i, g, cells);
    return (of_b ? b_scales_begin : scales_begin) + cells.first.column / 4 * 512 + row * 16 +
           cells.first.column % 4 * 4 + first + g;
  }
  void expect_cute_scale(bool of_b, uint32_t i, uint32_t g, const sheet::ScaleCells& cells) const;

  std::string name() const {
    return fmt::format("kind {} types {}x{} sum {} blocks {} {}x{} a {}{} b {}{} {}{}{} scales of {} from {} and {}",
                       kind, static_cast<int>(a), static_cast<int>(b), sum, blocks, m, n, a_mn ? "mn" : "k", a_swizzle,
                       b_mn ? "mn" : "k", b_swizzle,
                       !a_in_tensor_memory ? ""
                       : a_expanded        ? "expanded"
                                           : "from tensor memory",
                       options, mask, group, a_scale_byte, b_scale_byte);
  }
};

std::string kernel_of(const Product& product);

// Runs it and compares every cell of D; the others must be as they were.
void check(const Product& product, Mode mode = Mode::friendly, std::uint64_t seed = 0, bool judged = false);

}  // namespace wm::vgpu::testing
