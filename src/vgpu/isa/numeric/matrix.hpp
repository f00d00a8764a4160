// ldmatrix, stmatrix and movmatrix: 8 x 8 matrices of 16-bit elements between rows in memory and a register of a warp.
// Row r of matrix i lies at the address that lane 8 * i + r gives; the forms of 8-bit and smaller elements belong to
// later chips.
#pragma once

#include <cstdint>
#include <cstring>

namespace wm::vgpu::numeric {

// Eight rows of eight elements, as in memory.
struct Matrix8x8 {
  std::uint16_t rows[8][8];
};

// Lane l holds two neighbours: row l / 4, columns 2 * (l % 4) and the next; transposed, of column l / 4 those two rows.
inline void matrix_to_register(const Matrix8x8& matrix, bool transposed, std::uint32_t* lanes) {
  if (!transposed) {
    std::memcpy(lanes, matrix.rows, sizeof matrix.rows);
    return;
  }
  for (int lane = 0; lane < 32; ++lane) {
    const int row = lane % 4 * 2, column = lane / 4;
    lanes[lane] = std::uint32_t{matrix.rows[row + 1][column]} << 16 | matrix.rows[row][column];
  }
}

inline Matrix8x8 register_to_matrix(const std::uint32_t* lanes, bool transposed) {
  Matrix8x8 matrix;
  std::memcpy(matrix.rows, lanes, sizeof matrix.rows);
  if (!transposed) return matrix;
  Matrix8x8 turned;
  for (int row = 0; row < 8; ++row)
    for (int column = 0; column < 8; ++column) turned.rows[row][column] = matrix.rows[column][row];
  return turned;
}

// movmatrix.sync.trans: d may be a.
inline void transpose_register(const std::uint32_t* a, std::uint32_t* d) {
  matrix_to_register(register_to_matrix(a, false), true, d);
}

}  // namespace wm::vgpu::numeric
