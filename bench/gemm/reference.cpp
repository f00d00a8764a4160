// Activations and roundings in float64.
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
  switch (d) {  // with what subnormals may lose
    case DType::bf16: return magnitude * 0x1p-8;
    case DType::f16: return magnitude * 0x1p-11 + 0x1p-25;
    case DType::e4m3: return magnitude * 0x1p-4 + 0x1p-10;
    case DType::i32: return 0;
    default: return magnitude * 0x1p-23;
  }
}

}  // namespace wm::bench
