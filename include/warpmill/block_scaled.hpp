// Matrices of narrow floats with a scale for each few elements along k: quantize makes them, gemm multiplies them. For
// sm_100a, and fp8 and fp4 for sm_120a.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "warpmill/api.hpp"
#include "warpmill/buffer.hpp"
#include "warpmill/device.hpp"
#include "warpmill/gemm.hpp"
#include "warpmill/gemm/block_format.h"

namespace wm {

WARPMILL_API std::string_view name_of(BlockFormat format);               // "mxfp8_e4m3", "nvfp4"
WARPMILL_API BlockFormat block_format_from_name(std::string_view name);  // "mxfp8" and "mxfp6" too; throws and lists

// Where such a matrix lies: `rows` rows of `k` elements each, scaled in groups along k, in the layouts of
// gemm/block_format.h (docs/blackwell.md). Elements lie along k; those of mxfp8 may lie along the rows instead
// (Major::mn, sm_100a), under the same scales. Owns nothing.
struct BlockScaledView {
  Device device;
  BlockFormat format = BlockFormat::nvfp4;
  std::int64_t rows = 0, k = 0;
  std::uint64_t data = 0, scales = 0;  // addresses, multiples of 32 and of 16 bytes
  Major major = Major::k;

  std::int64_t pitch() const { return major == Major::k ? row_bytes(format, k) : line_bytes(rows); }
  std::int64_t data_bytes() const { return (major == Major::k ? rows : k) * pitch(); }
  std::int64_t scale_bytes() const { return wm::scale_bytes(format, rows, k); }
};

// One with memory of its own.
struct BlockScaledMatrix {
  BlockFormat format;
  std::int64_t rows, k;
  Buffer data, scales;
  Major major = Major::k;
  BlockScaledView view() const { return {data.device(), format, rows, k, data.address(), scales.address(), major}; }
};

// Rounds a matrix, rows by k, of f32, bf16 or f16 with any strides, which stay in the stream's order. mx formats: each
// group's scale is the least power of two that brings its elements into range; nvfp4: a sixth of the largest magnitude,
// rounded to 8 bits, so that numbers beyond 2688 saturate and those of a group below 2^-9 vanish: scale the matrix
// first, and the product by GemmEpilogue::alpha. Elements are rounded to the nearest, ties to even; numbers are finite.
WARPMILL_API BlockScaledMatrix quantize(const Stream& stream, const View& source, BlockFormat format,
                                        Major major = Major::k);
// Into memory of the caller's.
WARPMILL_API void quantize(const Stream& stream, const View& source, const BlockScaledView& to);

// The numbers that it stands for, row by row. Waits for the device.
WARPMILL_API std::vector<float> numbers_of(const BlockScaledMatrix& matrix);

// D[m,n] = epilogue(A B^T): A is m x k, B n x k, both scaled along k. Any mx formats with each other, nvfp4 with nvfp4;
// on sm_120a mxfp8 with mxfp8, mxfp4 with mxfp4, nvfp4 with nvfp4. Sums are f32; D is bf16, f16, f32 or e4m3.
struct BlockScaledGemmRequest {
  BlockScaledView a, b;
  View d;
  GemmEpilogue epilogue{};
  std::optional<GemmPlan> plan{};
  Trace* trace = nullptr;
};
WARPMILL_API GemmResult gemm(const Stream& stream, const BlockScaledGemmRequest& request);

}  // namespace wm
