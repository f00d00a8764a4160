// A shape's operands several times over, more than L2 holds, and products of them recorded for replay: every product
// reads device memory, and launching costs the host nothing.
#pragma once

#include <functional>
#include <vector>

#include "gemm/graph.hpp"
#include "gemm/random_product.hpp"

namespace wm::bench {

double quantile(std::vector<double> values, double q);

class Rotation {
 public:
  Rotation(const Stream& stream, const Shape& shape, const Variant& variant = {});
  // `product` puts one product into the stream.
  Graph record(const std::function<void(const RandomProduct&)>& product) const;
  // One replay's time for each product.
  double seconds(const Graph& graph) const;
  const RandomProduct& first() const { return sets_.front(); }

 private:
  const Stream& stream_;
  std::vector<RandomProduct> sets_;
  int launches_;
};

}  // namespace wm::bench
