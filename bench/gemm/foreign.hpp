// A kernel that is not ours, in the stream before a product: it writes A element by element, as an activation would.
#pragma once

#include "gemm/random_product.hpp"
#include "warpmill/module.hpp"

namespace wm::bench {

class ForeignKernel {
 public:
  explicit ForeignKernel(const Device& device);
  // A keeps its values.
  void write_a(const Stream& stream, const RandomProduct& problem) const;

 private:
  Kernel kernel_;
};

}  // namespace wm::bench
