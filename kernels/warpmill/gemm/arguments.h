// What the GEMM kernels get. Plain C++, shared by host and device.
#pragma once

#include "warpmill/pipeline/schedule.h"
#include "warpmill/shared_types.h"

namespace wm {

// A matrix as threads address it, in elements.
struct MatrixAddress {
  unsigned long long base;
  long long row_stride, column_stride, matrix_stride;
};

// What the kernels get.
struct GemmArguments {
  TensorMap a, b;            // boxes of one block's share of a stage; none where there is no copy engine
  TensorMap d, d_last;       // boxes of one strip, and of a tile's last one
  MatrixAddress a_at, b_at;  // A's rows along m, B's along n, columns along k: for producers by threads
  MatrixAddress d_at, c_at;
  unsigned long long row_scale, column_scale, row_bias, column_bias, amax, d_scale;  // addresses
  int row_scale_stride, column_scale_stride;                                         // 1, or 0: one for all
  float alpha, beta;
  unsigned m, n, k;
  unsigned long long a_policy, b_policy;  // what copies of A and B do to their lines in L2
  bool a_early, b_early;                  // the kernel ahead does not write it: loaded before that has ended
  unsigned a_ahead, b_ahead;              // steps of each that are brought into L2 before then, where none is loaded
  unsigned long long partials;            // workspace of a split plan, zero before and after
  unsigned long long sums;                // of one that spreads tiles: their sums
  unsigned long long a_scales, b_scales;  // blocks of them (block_format.h), and how many of 128 rows
  unsigned a_scale_blocks, b_scale_blocks;
  WorkSchedule work;

  // Which matrix of its operand a product of the batch takes, in strides from the base. One that all share has one
  // matrix in its map.
  constexpr unsigned a_matrix(unsigned product) const { return a_at.matrix_stride ? product : 0; }
  constexpr unsigned b_matrix(unsigned product) const { return b_at.matrix_stride ? product : 0; }
  constexpr unsigned c_matrix(unsigned product) const { return product; }
  constexpr unsigned d_matrix(unsigned product) const { return product; }
};

// Matrices that are not evenly apart: the base is the lowest address, the stride a power of two that divides them all,
// so that one tensor map reaches them all and each has a number.
struct MatrixNumbers {
  static constexpr int most = 256;  // products a launch
  unsigned a[most], b[most], c[most], d[most];
};
struct ListedGemmArguments : GemmArguments {
  MatrixNumbers numbers;

  constexpr unsigned a_matrix(unsigned product) const { return numbers.a[product]; }
  constexpr unsigned b_matrix(unsigned product) const { return numbers.b[product]; }
  constexpr unsigned c_matrix(unsigned product) const { return numbers.c[product]; }
  constexpr unsigned d_matrix(unsigned product) const { return numbers.d[product]; }
};

// Blocks of scales as tensors, for clusters: a block's tile may lie behind the matrix, and of two that multiply
// together one's barrier counts the copies of both.
struct ScaleMaps {
  static constexpr int word = 8;  // bytes of an element
  TensorMap a, b;                 // boxes of a stage
};
struct ClusterScaledGemmArguments : GemmArguments {
  ScaleMaps scale_maps;
};

}  // namespace wm
