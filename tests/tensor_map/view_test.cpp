// Specifications from views.
#include <gtest/gtest.h>

#include "tensor_map/virtual_form.hpp"
#include "warpmill/error.hpp"
#include "warpmill/tensor_map.hpp"

using namespace wm;

namespace {

View view(std::vector<std::int64_t> shape, std::vector<std::int64_t> strides) {
  return View(Device(nullptr), std::uint64_t{0x1000}, DType::bf16, std::move(shape), std::move(strides));
}

}  // namespace

TEST(TensorMapBuilder, TakesStridesInBytesFromAView) {
  const TensorMapSpec spec = TensorMapSpec::tiled(view({4, 100, 64}, {100 * 72, 72, 1}), {1, 32, 64}, Swizzle::b128);
  EXPECT_EQ(spec.element, MapElement::bf16);
  EXPECT_EQ(spec.address, 0x1000u);
  EXPECT_EQ(spec.dims, (std::vector<std::int64_t>{4, 100, 64}));
  EXPECT_EQ(spec.strides, (std::vector<std::int64_t>{100 * 144, 144}));
  EXPECT_EQ(spec.box_bytes(), 32u * 64 * 2);
  EXPECT_NO_THROW(check(spec, {9, 0, true}));
}

TEST(TensorMapBuilder, GivesADimensionOfOneElementALegalStride) {
  for (const std::int64_t stride : {std::int64_t{0}, std::int64_t{3002}, std::int64_t{1} << 62})
    EXPECT_NO_THROW(check(TensorMapSpec::tiled(view({1, 3002}, {stride, 1}), {1, 64}), {9, 0, true})) << stride;
  EXPECT_THROW(check(TensorMapSpec::tiled(view({2, 3002}, {3002, 1}), {1, 64}), {9, 0, true}), Error);
}

TEST(TensorMapBuilder, RefusesAViewThatIsNotContiguousInside) {
  EXPECT_THROW(TensorMapSpec::tiled(view({64, 64}, {1, 64}), {64, 64}), Error);
}

TEST(TensorMapBuilder, MakesTheVirtualDevicesForm) {
  const Device device = Device::open("virtual:sm_90a");
  const Buffer buffer(device, 64 * 128 * 2);
  const TensorMapSpec spec = TensorMapSpec::tiled(buffer.view(DType::bf16, {64, 128}), {32, 64}, Swizzle::b128);
  const TensorMap map = make_tensor_map(device, spec);
  const tensor_map::Fields fields = tensor_map::decode_virtual(bytes_of(map));
  EXPECT_EQ(fields.address, buffer.address());
  EXPECT_EQ(fields.strides[0], 256u);
}

TEST(TensorMapBuilder, RefusesWhatTheDeviceCannotHave) {
  const Device device = Device::open("virtual:sm_80");
  const Buffer buffer(device, 4096);
  const TensorMapSpec spec = TensorMapSpec::tiled(buffer.view(DType::u8, {16, 128}), {16, 128});
  try {
    make_tensor_map(device, spec);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unsupported);
  }
}
