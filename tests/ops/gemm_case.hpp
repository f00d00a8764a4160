// A product as a test states it (types, layouts, epilogue, plan), run on a device and compared with float64.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "warpmill/buffer.hpp"
#include "warpmill/gemm.hpp"

namespace wm::test {

// How a matrix lies in its buffer. By default its rows are dense and it begins at a multiple of 256 bytes.
struct Layout {
  bool columns = false;            // each column lies side by side instead of each row
  std::int64_t padding = 0;        // elements after each line
  std::int64_t step = 1;           // from one element of a line to the next
  std::int64_t offset = 0;         // elements before the first
  std::int64_t batch_padding = 0;  // elements after each matrix
  bool repeated = false;           // all matrices of a batch are one
};

enum class Scale { none, tensor, each };

struct EpilogueCase {
  float alpha = 1, beta = 0;
  DType c = DType::bf16;
  Layout c_layout{};
  bool in_place = false;  // c is d itself, whatever `c` and `c_layout` say
  Scale row_scale = Scale::none, column_scale = Scale::none;
  std::optional<DType> row_bias{}, column_bias{};
  Activation activation = Activation::none;
  const char* expression = "";  // "x * sigmoid(1.702f * x)" is the one that the reference knows
  bool amax = false, d_scale = false;
};

// Every part at once.
inline constexpr EpilogueCase full_epilogue{.alpha = 0.5f,
                                            .beta = 0.25f,
                                            .row_scale = Scale::each,
                                            .column_scale = Scale::each,
                                            .row_bias = DType::bf16,
                                            .column_bias = DType::bf16,
                                            .activation = Activation::silu,
                                            .amax = true,
                                            .d_scale = true};

struct GemmCase {
  std::int64_t m = 0, n = 0, k = 0;
  std::int64_t batch = 0;  // 0: two dimensions
  bool listed = false;     // the batch's matrices lie here and there, and their addresses are given
  DType a = DType::bf16, b = DType::bf16, d = DType::bf16;
  Layout a_layout{}, b_layout{.columns = true}, d_layout{};  // both operands along k
  EpilogueCase epilogue{};
  bool promote = false;
  bool align = true;
  std::string plan{};  // as plan::plan_from_text reads it, or empty: the ranking's first
  std::uint64_t seed = 1;
};

std::string describe(const GemmCase& c);

enum class Batching { none, strided, listed };

// A matrix, or the matrices of a batch, in a buffer of its own. What is not an element of it is filled with the bits of
// NaNs: read, they spoil the product; written, they are missed.
class PlacedMatrix {
 public:
  PlacedMatrix(const Device& device, DType dtype, std::int64_t batch, std::int64_t rows, std::int64_t columns,
               const Layout& layout, Batching batching);
  View view() const;                                                       // of a listed batch: as one matrix
  std::span<const std::uint64_t> addresses() const { return addresses_; }  // of a listed batch, unless all are one
  double at(std::int64_t matrix, std::int64_t row, std::int64_t column) const {
    return load_element(dtype, &bytes[index(matrix, row, column)]);
  }
  std::size_t index(std::int64_t matrix, std::int64_t row, std::int64_t column) const;  // of an element's first byte
  // Every element a random one; floats normal, integers over their whole range.
  void fill(std::uint64_t seed);
  void upload() { buffer.upload(bytes); }

  DType dtype;
  std::int64_t batch, rows, columns;
  std::vector<std::int64_t> strides;  // matrix, row, column
  Batching batching;
  std::vector<std::byte> bytes;  // the buffer's, as the host last knew them
  Buffer buffer;

 private:
  std::vector<std::size_t> first_;  // byte of element (0, 0) of each matrix
  std::vector<std::uint64_t> addresses_;
};

// The case on a device: operands and vectors filled, D poisoned.
class GemmRun {
 public:
  GemmRun(const Device& device, const GemmCase& c);
  GemmRequest request() const;
  // D and amax as they were before the first run.
  void reset();
  std::vector<std::byte> result() const;  // the bytes of D's buffer
  // Every element of D and the amax within what the types allow; every other byte of D's buffer as it was.
  void expect_right() const;

 private:
  struct Reference;
  Reference reference() const;

  GemmCase case_;
  PlacedMatrix a_, b_, d_;
  std::optional<PlacedMatrix> c_;
  std::vector<std::pair<std::optional<View> GemmEpilogue::*, PlacedMatrix>> vectors_;
  const PlacedMatrix* vector(std::optional<View> GemmEpilogue::*which) const;
};

// Runs the case once and checks it.
GemmResult check(const Stream& stream, const GemmCase& c);

}  // namespace wm::test
