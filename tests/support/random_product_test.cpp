// The check that every measured product goes through: right results pass, wrong ones do not.
#include "gemm/random_product.hpp"

#include <cmath>

#include <gtest/gtest.h>

#include "plan/gemm_ranking.hpp"

using namespace wm;
using namespace wm::bench;

namespace {

Device device() { return Device::open("virtual:sm_90a:sms=4"); }

struct Case {
  Shape shape;
  Variant variant{};
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all{
      {{64, 72, 160, DType::f16, DType::f16}, {.a_major = Major::mn, .b_major = Major::mn}},
      {{64, 72, 160, DType::tf32, DType::f32}},
      {{64, 16, 16352, DType::tf32, DType::f32}},
      {{64, 72, 160, DType::e4m3, DType::bf16, 2}},
      {{64, 72, 160, DType::e4m3, DType::e4m3}, {.epilogue = {.amax = true, .d_scale = true}}},
      {{64, 72, 160, DType::i8, DType::i32}},
      {{64, 72, 160},
       {.epilogue = {.alpha = true,
                     .residual = true,
                     .row_scale = true,
                     .column_scale = true,
                     .row_bias = true,
                     .column_bias = true,
                     .activation = Activation::expression},
        .expression = "x * sigmoid(1.702f * x)"}}};
  return all;
}

}  // namespace

TEST(RandomProduct, PassesRightProductsAndFindsUnwrittenAndWrongOnes) {
  const Stream stream(device());
  for (const Case& c : cases()) {
    RandomProduct problem(stream, c.shape, 1, c.variant);
    EXPECT_FALSE(problem.sampled_error() < 1) << "nobody has computed it";
    gemm(stream, problem.request());
    EXPECT_LT(problem.sampled_error(), 1);
    // 32 products of the first row forgotten: one step of 8-bit types.
    const RandomProduct other(stream, c.shape, 2, c.variant);
    const std::size_t bytes = (c.variant.a_major == Major::k ? 32u : 32u * 64) * size_of(c.shape.operands);
    std::vector<std::byte> part(bytes);
    other.a.download(part);
    problem.a.upload(part);
    EXPECT_FALSE(problem.sampled_error() < 1) << "the operands are no longer those of the product";
  }
}

TEST(RandomProduct, FindsAWrongLargestMagnitude) {
  const Stream stream(device());
  const RandomProduct problem(stream, {64, 72, 160}, 1, {.epilogue = {.amax = true}});
  GemmRequest request = problem.request();
  gemm(stream, request);
  EXPECT_LT(problem.sampled_error(), 1);
  stream.fill(request.epilogue.amax->address, std::byte{0x3f}, 4);  // 0.747
  EXPECT_GE(problem.sampled_error(), 1);
}

TEST(Shape, CountsBytesAndTheFloorByTypeAndChip) {
  const Shape bf16{128, 256, 512}, e4m3{128, 256, 512, DType::e4m3, DType::bf16},
      twice{128, 256, 512, DType::e4m3, DType::bf16, 2};
  EXPECT_EQ(bf16.bytes(), 2. * (128 * 512 + 256 * 512 + 128 * 256));
  EXPECT_EQ(e4m3.bytes(), 128 * 512 + 256 * 512 + 2. * 128 * 256);
  EXPECT_EQ(twice.bytes(), 2 * e4m3.bytes());
  EXPECT_EQ(twice.flops(), 2 * e4m3.flops());
  const Shape large{8192, 8192, 8192, DType::e4m3, DType::bf16};
  const plan::ChipRates rates{.tensor_flops = 100e12, .memory_bytes = 1e12};
  const Floor floor = floor_of(large, rates);
  EXPECT_DOUBLE_EQ(floor.memory, large.bytes() / 1e12);
  EXPECT_DOUBLE_EQ(floor.tensor, large.flops() / 200e12);
  EXPECT_EQ(floor.seconds(), floor.tensor);
  const Shape row{1, 8192, 8192};
  EXPECT_EQ(floor_of(row, rates).seconds(), floor_of(row, rates).memory);
}
