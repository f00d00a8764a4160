// A result may be compared with the product of two buffers.
#include "case/product.hpp"

#include <cstring>

#include <gtest/gtest.h>

#include "case/fill.hpp"

namespace wm::cases {
namespace {

BufferSpec buffer(DType dtype, std::vector<std::int64_t> shape, double start) {
  BufferSpec spec;
  spec.layout = make_layout(dtype, std::move(shape));
  spec.fill = Iota{.start = start};
  return spec;
}

class ProductOfBuffers : public testing::Test {
 protected:
  const std::vector<BufferSpec> buffers_ = {buffer(DType::bf16, {2, 3}, 0),  // 0 1 2 | 3 4 5
                                            buffer(DType::f32, {2, 3}, -1),  // -1 0 1 | 2 3 4
                                            buffer(DType::f32, {2}, 100)};   // 100 101
  std::vector<double> of(const Product& product) const {
    std::vector<std::vector<std::byte>> elements;
    for (const BufferSpec& spec : buffers_) elements.push_back(fill_elements(spec.fill, spec.layout));
    const auto bytes = product_elements(product, buffers_, elements);
    std::vector<double> values(bytes.size() / sizeof(double));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }
};

TEST_F(ProductOfBuffers, IsRowsTimesRowsWithTheBiasOfTheColumn) {
  EXPECT_EQ(of({0, 1, {}}), (std::vector<double>{2, 11, 2, 38}));
  EXPECT_EQ(of({0, 1, 2}), (std::vector<double>{102, 112, 102, 139}));
}

TEST_F(ProductOfBuffers, FitsOnlyAResultOfItsShape) {
  EXPECT_EQ(problem_of({0, 1, 2}, buffers_, make_layout(DType::bf16, {2, 2})), "");
  EXPECT_EQ(problem_of({0, 1, {}}, buffers_, make_layout(DType::bf16, {2, 3})),
            "the product of a and b transposed is 2 x 2, this buffer 2 x 3");
  EXPECT_EQ(problem_of({0, 2, {}}, buffers_, make_layout(DType::bf16, {2, 2})),
            "a is m x k and b is n x k; here a is 2 x 3 and b is 2");
}

}  // namespace
}  // namespace wm::cases
