// Activations, roundings and the tensor cores' losses in float64.
#include "gemm/reference.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace wm::bench {

double activated(Activation activation, double x) {
  switch (activation) {
    case Activation::relu: return std::max(x, 0.);
    case Activation::gelu_tanh:
      return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
    case Activation::gelu_erf: return 0.5 * x * (1 + std::erf(x / std::numbers::sqrt2));
    case Activation::silu: return x / (1 + std::exp(-x));
    default: return x;
  }
}

double rounding_of(DType d, double value) {
  const double magnitude = std::fabs(value);
  switch (d) {  // half of the last bit, of a subnormal where the number is that small
    case DType::bf16: return magnitude * 0x1p-8;
    case DType::f16: return std::max(magnitude * 0x1p-11, 0x1p-25);
    case DType::e4m3: return std::max(magnitude * 0x1p-4, 0x1p-10);
    case DType::i32: return 0;
    default: return magnitude * 0x1p-24;
  }
}

void DroppedBits::add(double x, const double* columns) {
  if (added_ % 32 == 0) end_step();
  if (promote_ && added_ % 128 == 0) {
    std::fill(sum_.begin(), sum_.end(), 0);
    for (Column& column : columns_) column.largest = 0;
  }
  ++added_, ++terms_;
  for (std::size_t j = 0; j < sum_.size(); ++j) {
    const double product = x * columns[j];
    columns_[j].largest = std::max(columns_[j].largest, std::fabs(product));
    sum_[j] += product;
  }
}

std::vector<double> DroppedBits::most() {
  end_step();
  std::vector<double> most;
  for (const Column& column : columns_)
    most.push_back(std::min(column.worst, column.drift + std::sqrt(column.variance)));
  return most;
}

void DroppedBits::end_step() {
  for (std::size_t j = 0; j < sum_.size(); ++j) {
    Column& column = columns_[j];
    const double sum = std::fabs(sum_[j]), unit = std::max(column.largest, sum) * 0x1p-13;
    if (terms_ > 0) {
      column.worst += (terms_ + 2) * unit;
      column.drift += 2 * unit;
      column.variance += 100 * unit * unit;
    }
    column.largest = sum;
  }
  terms_ = 0;
}

}  // namespace wm::bench
