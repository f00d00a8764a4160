// A GEMM request, checked and put into one form: what to compute, where everything lies, and who can bring it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "warpmill/block_scaled.hpp"
#include "warpmill/gemm.hpp"

namespace wm::ops {

// A matrix as the kernels see it: A as m rows along k, B as n rows along k, D and C as m rows along n.
struct Matrix {
  std::uint64_t address = 0;
  std::int64_t row_stride = 0, column_stride = 0, matrix_stride = 0;  // elements
  bool operator==(const Matrix&) const = default;
};

// The epilogue's vectors and single values: address, and 1 or 0 (one for all).
struct Vector {
  std::uint64_t address = 0;
  int stride = 0;
  bool operator==(const Vector&) const = default;
};

// The matrices of a listed batch. Each address is a multiple of its operand's matrix stride, which is the largest power
// of two that divides them all.
struct ListedMatrices {
  std::vector<std::uint64_t> a, b, c, d;  // empty: all products share the operand's matrix
  bool operator==(const ListedMatrices&) const = default;
};

// Scales of an operand: where its blocks begin, and how many lie along k.
struct Scales {
  std::uint64_t address = 0;
  unsigned blocks = 0;
  bool operator==(const Scales&) const = default;
};

struct GemmProblem {
  GemmKind kind;
  std::int64_t m = 0, n = 0, k = 0, batch = 1;
  Matrix a, b, d, c;
  ListedMatrices listed;
  bool copy_a = false, copy_b = false;  // the copy engine could bring both operands if these were copied (gemm_aligned)
  Scales a_scales, b_scales;            // of operands with block scales
  Vector row_scale, column_scale, row_bias, column_bias, amax, d_scale;
  std::string expression;

  bool operator==(const GemmProblem&) const = default;
  // D^T = B^T A^T.
  GemmProblem transposed() const;
};

// For a kernel with `instruction`: with wgmma and tcgen05 comes the copy engine, with mma threads copy. Refuses in
// words what cannot be served.
GemmProblem understand(const Stream& stream, const GemmRequest& request, TensorInstruction instruction);

// The same for operands with block scales; as `bytes` they are matrices of u8, for what asks where they lie.
struct BlockScaledProblem {
  GemmRequest bytes;
  GemmProblem problem;
};
BlockScaledProblem understand(const Stream& stream, const BlockScaledGemmRequest& request,
                              TensorInstruction instruction);

// Refuses a D that overlaps another D of its batch, or anything that is read, and an amax that does. Apart from
// understand(), because it may look at many pairs: what passed once need not be looked at again.
void check_overlaps(const GemmRequest& request);

// Why a request cannot be served.
[[noreturn]] void refuse(const std::string& why);

}  // namespace wm::ops
