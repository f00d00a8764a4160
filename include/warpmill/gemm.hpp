// D = epilogue(alpha A B + beta C): matrix products on the tensor cores.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "warpmill/api.hpp"
#include "warpmill/buffer.hpp"
#include "warpmill/device.hpp"
#include "warpmill/gemm/plan.h"
#include "warpmill/trace.hpp"

namespace wm {

// What happens to each sum on its way to D, in this order:
//
//   x = alpha * row_scale[i] * column_scale[j] * sum + beta * c[i,j] + row_bias[i] + column_bias[j]
//   x = activation(x);   amax = max |x|;   d[i,j] = x * d_scale, rounded
//
// Scales, amax and d_scale are f32. A scale has one element for the whole matrix, or one for each row (column). Biases
// are f32, bf16 or f16; c is f32, bf16 or f16 and may be d itself. Matrices of a batch share all but c.
struct GemmEpilogue {
  float alpha = 1, beta = 0;
  std::optional<View> c{};
  std::optional<View> row_scale{}, column_scale{};
  std::optional<View> row_bias{}, column_bias{};
  Activation activation = Activation::none;
  std::string expression{};    // with Activation::expression: C++ of a float x, "x * sigmoid(1.702f * x)"
  std::optional<View> amax{};  // set to the largest |x|; NaN where there is one
  std::optional<View> d_scale{};
};

// Matrices of a batch that lie anywhere: an address for each, d.size() products. The views a, b, c and d have two
// dimensions then and say what one matrix is like. Where the list of a, b or c is empty all products share the view's
// matrix, else the view's address does not count. A launch for each 256 products, or fewer where they lie very far
// apart. The copy engine serves them like any others, if they begin at multiples of 16 bytes.
struct GemmBatch {
  std::span<const std::uint64_t> a{}, b{}, c{}, d{};
};

// A[m,k] B[k,n] = D[m,n], or with a third dimension in front of all three a batch of them (a stride of 0 repeats an
// operand). Any strides: a weight kept as [n,k] is passed as weight.transposed().
//
//   A and B                               sums   D
//   bf16, f16                             f32    bf16, f16, f32, e4m3
//   f32 or tf32 (read as tf32)            f32    bf16, f16, f32, e4m3
//   e4m3, e5m2, in any pair               f32    bf16, f16, f32, e4m3
//   i8                                    i32    i32 (no epilogue), or as above
//
// A batch whose matrices are not evenly apart has their addresses in `batch`.
//
// On sm_90a with the copy engine and wgmma; on sm_100a with the copy engine and tcgen05; on sm_120a with the copy
// engine and mma.sync; on sm_80 and every other newer chip with cp.async and mma.sync, without 8-bit floats.
struct GemmRequest {
  View a, b, d;
  std::optional<GemmBatch> batch{};
  GemmEpilogue epilogue{};
  // 8-bit floats: Hopper's tensor cores keep about 14 bits of a sum; this adds their sums of 128 products in full
  // precision.
  bool promote = false;
  // Operands that the copy engine cannot read where they lie are copied to the stream's workspace first, where that
  // pays and there is memory (in a capture: where the stream has as much already); otherwise threads bring them.
  bool align = true;
  // Operands may be loaded before the kernel ahead in the stream has ended, where it is known not to write them (in a
  // capture, behind a product or an attention of ours).
  bool early = true;
  std::optional<GemmPlan> plan{};  // by hand (its kind is filled in); else the tuned or the ranking's first
  // Where a timeline of the launch (of several, the last) goes: a build with stamps runs, and the call waits for it.
  Trace* trace = nullptr;
};

struct GemmResult {
  GemmPlan plan;      // what ran
  unsigned band = 0;  // tile rows walked together
  unsigned blocks = 0;
  bool tuned = false;    // measured for this shape, or for one with nearly as few rows (docs/gemm.md, Tuning)
  bool aligned = false;  // operands were copied first (GemmRequest::align)
  bool early = false;    // an operand is loaded before the kernel ahead in the stream has ended (GemmRequest::early)
  // Who brought A and B and who stored D, in words: "copy engine", or why not.
  WARPMILL_API std::string path() const;
};

// Puts the product into the stream. The first call with a shape may compile and load a kernel (or take it from the
// cache) and allocate the stream's workspace: make it before a graph capture begins. Later calls with the same shape,
// types, layouts, alignments and parts of the epilogue only launch, and may be captured (a split plan, and operands
// that are copied first, use the capturing stream's workspace: replay such graphs in that stream, or not beside its
// other products). The result is the same bits every time. A request that cannot be served is refused in words before
// anything is launched.
//
// Behind another product or attention of ours in the same capture, a product that mostly reads one operand begins to
// load it before that kernel has ended, unless that kernel writes it (GemmRequest::early).
WARPMILL_API GemmResult gemm(const Stream& stream, const GemmRequest& request);

}  // namespace wm
