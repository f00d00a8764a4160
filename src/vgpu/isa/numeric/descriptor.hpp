// The matrix descriptor of wgmma: where in shared memory each 16 bytes of an operand lie.
//
// K-major, a row holds its elements along k: eight rows of 16 bytes make a core matrix. Without swizzle LBO leads to
// the core matrix next along k and SBO to the next eight rows; with it, rows are 32, 64 or 128 bytes apart, the next 16
// bytes along k follow directly, SBO leads to the next eight rows and LBO is not used. MN-major, each k holds eight
// neighbouring rows in 16 bytes. Without swizzle SBO leads to the next eight rows and LBO to the next eight k; with it
// a pattern's row holds 16, 32 or 64 rows of the matrix, LBO leads to those after them and SBO to the next eight k.
#pragma once

#include <cstdint>

namespace wm::vgpu::numeric {

enum class Swizzle : std::uint8_t { none, bytes128, bytes64, bytes32 };  // numbered as in the descriptor

struct MatrixDescriptor {
  std::uint32_t address = 0;        // of the first element, in the block's shared window
  std::uint32_t leading_bytes = 0;  // LBO
  std::uint32_t stride_bytes = 0;   // SBO
  std::uint32_t base_offset = 0;    // which 128 bytes of 1024 the swizzle pattern starts in
  Swizzle swizzle = Swizzle::none;

  static constexpr MatrixDescriptor decode(std::uint64_t bits) {
    const auto field = [&](int from, int width) {
      return static_cast<std::uint32_t>(bits >> from & ((std::uint64_t{1} << width) - 1));
    };
    return {field(0, 14) << 4, field(16, 14) << 4, field(32, 14) << 4, field(49, 3),
            static_cast<Swizzle>(field(62, 2))};
  }

  // Bytes from one row of the pattern to the next; without swizzle the rows of a core matrix follow each other.
  constexpr std::uint32_t pitch() const {
    return swizzle == Swizzle::none ? 16 : 256u >> static_cast<std::uint32_t>(swizzle);
  }

  // The place of 16 bytes after the swizzle: bits 4 and up are exchanged by the number of the 128 bytes they lie in.
  constexpr std::uint32_t swizzled(std::uint32_t linear) const {
    return linear ^ (((linear >> 7) - base_offset) & (pitch() / 16 - 1)) << 4;
  }

  // K-major: 16 bytes of row (or column) `row`, `chunk` 0 or 1 of the 32 bytes that one wgmma takes along k.
  constexpr std::uint32_t k_major(std::uint32_t row, std::uint32_t chunk) const {
    const std::uint32_t next = swizzle == Swizzle::none ? leading_bytes : 16;
    return swizzled(address + row / 8 * stride_bytes + row % 8 * pitch() + chunk * next);
  }

  // MN-major: rows (or columns) 8 * `group` to 8 * `group` + 7 at one k.
  constexpr std::uint32_t mn_major(std::uint32_t group, std::uint32_t k) const {
    const std::uint32_t inside = k % 8 * pitch();
    if (swizzle == Swizzle::none) return address + group * stride_bytes + k / 8 * leading_bytes + inside;
    const std::uint32_t groups = pitch() / 16;  // in a row of the pattern
    return swizzled(address + group % groups * 16 + group / groups * leading_bytes + k / 8 * stride_bytes + inside);
  }
};

}  // namespace wm::vgpu::numeric
