// One product on a device: random operands, the request for it, and a check of its result.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "steps.hpp"
#include "warpmill/buffer.hpp"
#include "warpmill/gemm.hpp"

namespace wm::plan {
struct ChipRates;
}

namespace wm::bench {

// D as a user of these operands would take it, and as cuBLAS has it: bf16 for bf16 and 8-bit floats, i32 for i8, else
// the operands' own type.
DType usual_output(DType operands);

// What is computed: D[m,n] = A[m,k] B[k,n], `batch` times.
struct Shape {
  std::int64_t m, n, k;
  DType operands = DType::bf16;
  DType d = usual_output(operands);
  std::int64_t batch = 1;

  bool empty() const { return m == 0 || n == 0 || batch == 0; }  // D has no elements: there is nothing to do
  double flops() const { return 2.0 * double(m) * double(n) * double(k) * double(batch); }
  double bytes() const;  // each operand read once, the result written once
};

// Seconds that no kernel goes below: each byte once through memory, each operation on the tensor cores.
struct Floor {
  double memory, tensor;
  double seconds() const { return std::max(memory, tensor); }
};
Floor floor_of(const Shape& shape, const plan::ChipRates& rates);

// Operations a second of all tensor cores.
double tensor_flops(const plan::ChipRates& rates, DType operands);

// How the operands lie, and what happens to the sums.
struct Variant {
  Major a_major = Major::k, b_major = Major::k;
  EpilogueFacts epilogue{};
  std::string expression{};  // with Activation::expression
  bool promote = false;
};

// The request for a dense product whose parts lie at made-up addresses: what the library says to it can be asked before
// there is any memory.
GemmRequest imagined_request(const Device& device, const Shape& shape, const Variant& variant = {});

// Dense A, B and parts of the epilogue of normal random values; D filled with NaNs (integers: -2139062144), so that an
// element nobody writes is found. A product that the library refuses is refused in its words before anything is made.
class RandomProduct {
 public:
  RandomProduct(const Stream& stream, const Shape& shape, std::uint64_t seed, const Variant& variant = {});
  GemmRequest request(std::optional<GemmPlan> plan = {}) const;
  void poison(const Stream& stream) const;
  // The largest error over sampled elements against float64, in units of what D's rounding, the tensor cores' sums and
  // the epilogue's arithmetic allow: a right result stays below 1. Corners are always among the samples.
  double sampled_error(int samples = 64, const Tell& tell = {}) const;

  Shape shape;
  Variant variant;
  Buffer a, b, d;

 private:
  // The epilogue's parts, empty where there is none.
  Buffer c_, row_scale_, column_scale_, row_bias_, column_bias_, amax_, d_scale_;
};

}  // namespace wm::bench
