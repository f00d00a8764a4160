// A product in float64, from the elements of a case's buffers.
#include "product.hpp"

#include <cstring>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace wm::cases {
namespace {

std::vector<double> as_doubles(DType dtype, const std::vector<std::byte>& elements) {
  const std::size_t width = size_of(dtype);
  std::vector<double> values(elements.size() / width);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = load_element(dtype, elements.data() + i * width);
  return values;
}

}  // namespace

std::string problem_of(const Product& product, const std::vector<BufferSpec>& buffers, const Layout& result) {
  const auto& a = buffers[product.a].layout.shape;
  const auto& b = buffers[product.b].layout.shape;
  if (a.size() != 2 || b.size() != 2 || a[1] != b[1])
    return fmt::format("a is m x k and b is n x k; here a is {} and b is {}", fmt::join(a, " x "), fmt::join(b, " x "));
  if (result.shape != std::vector{a[0], b[0]})
    return fmt::format("the product of a and b transposed is {} x {}, this buffer {}", a[0], b[0],
                       fmt::join(result.shape, " x "));
  if (product.bias)
    if (const auto& bias = buffers[*product.bias].layout.shape; bias != std::vector{b[0]})
      return fmt::format("the bias has one element for each of the {} columns; here it is {}", b[0],
                         fmt::join(bias, " x "));
  return "";
}

std::vector<std::byte> product_elements(const Product& product, const std::vector<BufferSpec>& buffers,
                                        const std::vector<std::vector<std::byte>>& elements, const Tell& tell) {
  const auto values_of = [&](std::size_t buffer) { return as_doubles(buffers[buffer].layout.dtype, elements[buffer]); };
  const auto a = values_of(product.a), b = values_of(product.b);
  const auto bias = product.bias ? values_of(*product.bias) : std::vector<double>();
  const auto rows = static_cast<std::size_t>(buffers[product.a].layout.shape[0]);
  const auto columns = static_cast<std::size_t>(buffers[product.b].layout.shape[0]);
  const auto k = static_cast<std::size_t>(buffers[product.a].layout.shape[1]);
  std::vector<std::byte> result(rows * columns * sizeof(double));
  const Steps steps(tell, "elements multiplied", rows * columns);
  for (std::size_t i = 0; i < rows * columns; ++i) {
    steps.at(i);
    const std::size_t row = i / columns, column = i % columns;
    double sum = bias.empty() ? 0 : bias[column];
    for (std::size_t at = 0; at < k; ++at) sum += a[row * k + at] * b[column * k + at];
    std::memcpy(result.data() + i * sizeof sum, &sum, sizeof sum);
  }
  return result;
}

}  // namespace wm::cases
