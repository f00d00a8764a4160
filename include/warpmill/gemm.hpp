// D = A B in bf16 with fp32 sums, on Hopper.
#pragma once

#include <optional>

#include "warpmill/buffer.hpp"
#include "warpmill/device.hpp"
#include "warpmill/gemm/plan.h"

namespace wm {

// A[m,k] B[k,n] = D[m,n]. The tensor cores read along k, so A's rows and B's columns are contiguous: a weight kept as
// [n,k] is passed as weight.transposed().
struct GemmRequest {
  View a, b, d;
  std::optional<GemmPlan> plan{};  // by hand; else the ranking's first
};

struct GemmResult {
  GemmPlan plan;      // what ran
  unsigned band = 0;  // tile rows walked together
  unsigned blocks = 0;
};

// Puts the product into the stream. The first call with a shape may compile and load a kernel (or take it from the
// cache): make it before a graph capture begins. Later calls with the shape only launch, and may be captured. A request
// that cannot be served is refused in words before anything is launched.
GemmResult gemm(const Stream& stream, const GemmRequest& request);

}  // namespace wm
