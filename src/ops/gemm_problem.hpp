// A GEMM request, checked and put into one form: what to compute, where everything lies, and who can bring it.
#pragma once

#include <cstdint>
#include <string>

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

struct GemmProblem {
  GemmKind kind;
  std::int64_t m = 0, n = 0, k = 0, batch = 1;
  Matrix a, b, d, c;
  Vector row_scale, column_scale, row_bias, column_bias, amax, d_scale;
  std::string expression;

  bool operator==(const GemmProblem&) const = default;
  // D^T = B^T A^T.
  GemmProblem transposed() const;
};

// For a kernel with `instruction`: with wgmma comes the copy engine, with mma threads copy. Refuses in words what
// cannot be served.
GemmProblem understand(const Stream& stream, const GemmRequest& request, TensorInstruction instruction);

}  // namespace wm::ops
