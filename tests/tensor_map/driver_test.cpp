// The names of a map's choices, and the way to the driver.
#include "tensor_map/driver.hpp"

#include <gtest/gtest.h>

#include "warpmill/error.hpp"
#include "warpmill/tensor_map.hpp"

using namespace wm;

namespace {

// What a stand-in for the driver was asked.
struct Asked {
  CUtensorMapDataType type;
  std::vector<cuuint64_t> dims, strides;
  std::vector<cuuint32_t> box, element_strides;
  std::vector<int> lower, upper;
  cuuint32_t channels = 0, pixels = 0;
} asked;

CUresult CUDAAPI tiled(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void*, const cuuint64_t* dims,
                       const cuuint64_t* strides, const cuuint32_t* box, const cuuint32_t* element_strides,
                       CUtensorMapInterleave, CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill) {
  asked = {type,
           {dims, dims + rank},
           {strides, strides + rank - 1},
           {box, box + rank},
           {element_strides, element_strides + rank},
           {},
           {}};
  map->opaque[0] = 42;
  return CUDA_SUCCESS;
}
CUresult CUDAAPI im2col(CUtensorMap*, CUtensorMapDataType type, cuuint32_t rank, void*, const cuuint64_t* dims,
                        const cuuint64_t* strides, const int* lower, const int* upper, cuuint32_t channels,
                        cuuint32_t pixels, const cuuint32_t* element_strides, CUtensorMapInterleave, CUtensorMapSwizzle,
                        CUtensorMapL2promotion, CUtensorMapFloatOOBfill) {
  asked = {type,
           {dims, dims + rank},
           {strides, strides + rank - 1},
           {},
           {element_strides, element_strides + rank},
           {lower, lower + rank - 2},
           {upper, upper + rank - 2},
           channels,
           pixels};
  return CUDA_ERROR_INVALID_VALUE;
}

}  // namespace

TEST(TensorMapNames, ReadAndWriteEveryChoice) {
  for (int i = 0; i <= static_cast<int>(MapElement::u6x16_align16); ++i)
    EXPECT_EQ(map_element_from_name(name_of(static_cast<MapElement>(i))), static_cast<MapElement>(i));
  for (int i = 0; i <= static_cast<int>(Swizzle::b128_atom64); ++i)
    EXPECT_EQ(swizzle_from_name(name_of(static_cast<Swizzle>(i))), static_cast<Swizzle>(i));
  for (int i = 0; i <= 2; ++i)
    EXPECT_EQ(interleave_from_name(name_of(static_cast<Interleave>(i))), static_cast<Interleave>(i));
  for (int i = 0; i <= 3; ++i)
    EXPECT_EQ(l2_promotion_from_name(name_of(static_cast<L2Promotion>(i))), static_cast<L2Promotion>(i));
  for (int i = 0; i <= 1; ++i)
    EXPECT_EQ(out_of_bounds_from_name(name_of(static_cast<OutOfBounds>(i))), static_cast<OutOfBounds>(i));
  try {
    swizzle_from_name("256B");
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "'256B' is no swizzle of a tensor map; there are: none, 32B, 64B, 128B, 128B_atom_32B, "
                 "128B_atom_32B_flip_8B, 128B_atom_64B");
  }
}

TEST(TensorMapDriver, GetsTheInnermostDimensionFirst) {
  const tensor_map::DriverFunctions driver{tiled, im2col};
  TensorMapSpec spec{.element = MapElement::f16,
                     .address = 0x1000,
                     .dims = {2, 3, 64},
                     .strides = {1024, 256},
                     .element_strides = {1, 2, 1},
                     .box = {1, 2, 32}};
  const TensorMap map = tensor_map::encode_with_driver(driver, spec);
  EXPECT_EQ(map.bytes[0], 42);
  EXPECT_EQ(asked.type, CU_TENSOR_MAP_DATA_TYPE_FLOAT16);
  EXPECT_EQ(asked.dims, (std::vector<cuuint64_t>{64, 3, 2}));
  EXPECT_EQ(asked.strides, (std::vector<cuuint64_t>{256, 1024}));
  EXPECT_EQ(asked.box, (std::vector<cuuint32_t>{32, 2, 1}));
  EXPECT_EQ(asked.element_strides, (std::vector<cuuint32_t>{1, 2, 1}));
}

TEST(TensorMapDriver, ItsRefusalOfALegalMapIsToldInFull) {
  const tensor_map::DriverFunctions driver{tiled, im2col};
  const TensorMapSpec spec{.mode = MapMode::im2col,
                           .address = 0x1000,
                           .dims = {2, 8, 9, 64},
                           .strides = {8 * 9 * 256, 9 * 256, 256},
                           .lower_corner = {-1, -2},
                           .upper_corner = {-3, -4},
                           .channels_per_pixel = 32,
                           .pixels_per_column = 16};
  try {
    tensor_map::encode_with_driver(driver, spec);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("the CUDA driver refused"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find(spec.describe()), std::string::npos);
  }
  EXPECT_EQ(asked.lower, (std::vector<int>{-2, -1}));  // W, then H
  EXPECT_EQ(asked.upper, (std::vector<int>{-4, -3}));
  EXPECT_EQ(asked.channels, 32u);
  EXPECT_EQ(asked.pixels, 16u);
}
