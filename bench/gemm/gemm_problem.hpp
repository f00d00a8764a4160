// One product on a device: random operands, the request for it, and a check of its result.
#pragma once

#include <cstdint>
#include <optional>

#include "warpmill/buffer.hpp"
#include "warpmill/gemm.hpp"

namespace wm::bench {

struct Shape {
  std::int64_t m, n, k;
  double flops() const { return 2.0 * double(m) * double(n) * double(k); }
  // Each operand read once, the result written once, in bf16.
  double bytes() const { return 2.0 * (double(m) * k + double(n) * k + double(m) * n); }
  // Seconds that no kernel on an H200 goes below: measured ceilings of memory (4.5 TB/s) and tensor cores (858
  // TFLOP/s).
  double floor_seconds() const;
};

// A[m,k] and B[n,k] dense, of normal random values; D[m,n] filled with NaNs, so that an element nobody writes is found.
class GemmProblem {
 public:
  GemmProblem(const Stream& stream, const Shape& shape, std::uint64_t seed);
  GemmRequest request(std::optional<GemmPlan> plan = {}) const;
  void poison(const Stream& stream) const;
  // The largest error over sampled elements against float64, in units of what rounding to bf16 and fp32 sums allow:
  // a right result stays below 1. Corners are always among the samples.
  double sampled_error(int samples = 64) const;

  Shape shape;
  Buffer a, b, d;
};

}  // namespace wm::bench
