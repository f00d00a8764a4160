// ldmatrix, stmatrix and movmatrix: 8 x 8 matrices of 16-bit elements between rows in memory and a register of a warp.
// Row r of matrix i lies at the address that lane 8 * i + r gives. Of .m8n16 a row has sixteen elements of 4 or 6 bits,
// and is the same once each has a byte. Matrices of bytes are transposed on the way: .m16n16 is loaded into two
// registers, its row r from where lane 16 * i + r says, and .m16n8 is stored out of one, as eight rows of 16 bytes.
#pragma once

#include <cstdint>
#include <cstring>

namespace wm::vgpu::numeric {

// Eight rows of eight elements, as in memory.
struct Matrix8x8 {
  std::uint16_t rows[8][8];
};

// Sixteen elements of `bits` that lie together, each into the low bits of its own byte.
inline void spread_over_bytes(void* sixteen_bytes, std::uint32_t bits) {
  std::uint8_t packed[17] = {}, *const bytes = static_cast<std::uint8_t*>(sixteen_bytes);
  std::memcpy(packed, bytes, 16);
  for (std::uint32_t i = 0; i < 16; ++i) {
    const std::uint32_t at = i * bits, word = packed[at / 8] | std::uint32_t{packed[at / 8 + 1]} << 8;
    bytes[i] = static_cast<std::uint8_t>(word >> at % 8 & ((1u << bits) - 1));
  }
}

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

// Sixteen rows of sixteen bytes, as in memory. Lane l gets four rows of column l / 4, from 4 * (l % 4) on, and in the
// second register the same rows of the column eight further on.
struct Matrix16x16 {
  std::uint8_t rows[16][16];
};
inline void turned_to_registers(const Matrix16x16& matrix, std::uint32_t* first, std::uint32_t* second) {
  for (int lane = 0; lane < 32; ++lane) {
    first[lane] = second[lane] = 0;
    for (int i = 0; i < 4; ++i) {
      const std::uint8_t* row = matrix.rows[4 * (lane % 4) + i];
      first[lane] |= std::uint32_t{row[lane / 4]} << 8 * i;
      second[lane] |= std::uint32_t{row[lane / 4 + 8]} << 8 * i;
    }
  }
}

// Lane l holds of a matrix of 16 x 8 bytes rows l / 4 and l / 4 + 8, columns 2 * (l % 4) and the next of each, as
// products leave sums; a column becomes 16 bytes of memory.
struct Columns16x8 {
  std::uint8_t columns[8][16];
};
inline Columns16x8 register_to_columns(const std::uint32_t* lanes) {
  Columns16x8 matrix;
  for (int lane = 0; lane < 32; ++lane)
    for (int i = 0; i < 4; ++i)
      matrix.columns[2 * (lane % 4) + i % 2][lane / 4 + 8 * (i / 2)] = static_cast<std::uint8_t>(lanes[lane] >> 8 * i);
  return matrix;
}

// movmatrix.sync.trans: d may be a.
inline void transpose_register(const std::uint32_t* a, std::uint32_t* d) {
  matrix_to_register(register_to_matrix(a, false), true, d);
}

}  // namespace wm::vgpu::numeric
