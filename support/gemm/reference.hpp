// What a right product may look like: its last steps in float64, and how far the chip may be from them. For whoever
// checks one, the benchmarks and the tests.
#pragma once

#include <cstdint>
#include <vector>

#include "warpmill/gemm.hpp"

namespace wm::bench {

// A caller's own expression is left alone: only a compiler can read it.
double activated(Activation activation, double x);

// How far rounding `value` to D's type may take it.
double rounding_of(DType d, double value);

// What the tensor cores drop of sums of 8-bit floats: of each of 32 products, of the sum so far and of the new one,
// what lies below bit 13 of the largest of them. The sum loses up to two such units a step, always toward zero; the
// cuts of products go both ways, and what is left of them grows like the root of the number of steps, ten units for
// one. With promotion the sum so far begins anew every 128 products.
class DroppedBits {
 public:
  DroppedBits(std::int64_t columns, bool promote)
      : promote_(promote), sum_(static_cast<std::size_t>(columns)), columns_(sum_.size()) {}

  // The products of a row's next element with that of every column.
  void add(double x, const double* columns);
  // After the last: the most that each sum may have lost.
  std::vector<double> most();

 private:
  struct Column {
    double largest = 0;  // of the step's terms
    double worst = 0, drift = 0, variance = 0;
  };
  void end_step();

  bool promote_;
  int terms_ = 0;  // of the step
  std::int64_t added_ = 0;
  std::vector<double> sum_;
  std::vector<Column> columns_;
};

}  // namespace wm::bench
