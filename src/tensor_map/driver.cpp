// Specifications as arguments of cuTensorMapEncodeTiled, cuTensorMapEncodeIm2col and cuTensorMapEncodeIm2colWide.
#include "tensor_map/driver.hpp"

#include <cstring>

#include <fmt/format.h>

#include "tensor_map/fields.hpp"
#include "warpmill/error.hpp"

namespace wm::tensor_map {

// Our enumerators stand in the driver's order.
static_assert(static_cast<int>(MapElement::u8) == CU_TENSOR_MAP_DATA_TYPE_UINT8 &&
              static_cast<int>(MapElement::i64) == CU_TENSOR_MAP_DATA_TYPE_INT64 &&
              static_cast<int>(MapElement::f16) == CU_TENSOR_MAP_DATA_TYPE_FLOAT16 &&
              static_cast<int>(MapElement::bf16) == CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 &&
              static_cast<int>(MapElement::tf32_ftz) == CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ &&
              static_cast<int>(MapElement::u6x16_align16) == CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B);
static_assert(static_cast<int>(Swizzle::b128) == CU_TENSOR_MAP_SWIZZLE_128B &&
              static_cast<int>(Swizzle::b128_atom64) == CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B);
static_assert(static_cast<int>(Interleave::b32) == CU_TENSOR_MAP_INTERLEAVE_32B &&
              static_cast<int>(L2Promotion::b256) == CU_TENSOR_MAP_L2_PROMOTION_L2_256B &&
              static_cast<int>(OutOfBounds::nan) == CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA);
static_assert(sizeof(CUtensorMap) == sizeof(TensorMap));

CUresult ask_driver(const DriverFunctions& driver, const TensorMapSpec& spec, TensorMap& map) {
  const Fields fields = to_fields(spec);
  void* const address = reinterpret_cast<void*>(fields.address);
  const auto element = static_cast<CUtensorMapDataType>(fields.element);
  const auto interleave = static_cast<CUtensorMapInterleave>(fields.interleave);
  const auto swizzle = static_cast<CUtensorMapSwizzle>(fields.swizzle);
  const auto promotion = static_cast<CUtensorMapL2promotion>(fields.l2_promotion);
  const auto fill = static_cast<CUtensorMapFloatOOBfill>(fields.fill);
  static_assert(sizeof(cuuint64_t) == sizeof(std::uint64_t));
  const auto* dims = reinterpret_cast<const cuuint64_t*>(fields.dims.data());
  const auto* strides = reinterpret_cast<const cuuint64_t*>(fields.strides.data());
  CUtensorMap encoded{};  // aligned as the driver wants it
  if (is_wide(fields.mode) && driver.encode_im2col_wide == nullptr)
    throw Error(ErrorCode::unsupported,
                fmt::format("an {} map needs a driver for CUDA 12.8 or later: update it, or use "
                            "an im2col map",
                            name_of(fields.mode)));
  const CUresult result =
      is_wide(fields.mode)
          ? driver.encode_im2col_wide(&encoded, element, fields.rank, address, dims, strides, fields.lower[0],
                                      fields.upper[0], fields.channels, fields.pixels, fields.element_strides.data(),
                                      interleave,
                                      fields.mode == MapMode::im2col_w ? CU_TENSOR_MAP_IM2COL_WIDE_MODE_W
                                                                       : CU_TENSOR_MAP_IM2COL_WIDE_MODE_W128,
                                      swizzle, promotion, fill)
      : fields.mode == MapMode::tiled
          ? driver.encode_tiled(&encoded, element, fields.rank, address, dims, strides, fields.box.data(),
                                fields.element_strides.data(), interleave, swizzle, promotion, fill)
          : driver.encode_im2col(&encoded, element, fields.rank, address, dims, strides, fields.lower.data(),
                                 fields.upper.data(), fields.channels, fields.pixels, fields.element_strides.data(),
                                 interleave, swizzle, promotion, fill);
  if (result == CUDA_SUCCESS) std::memcpy(map.bytes, &encoded, sizeof(encoded));
  return result;
}

TensorMap encode_with_driver(const DriverFunctions& driver, const TensorMapSpec& spec) {
  TensorMap map;
  const CUresult result = ask_driver(driver, spec, map);
  if (result != CUDA_SUCCESS)
    throw Error(
        ErrorCode::internal,
        fmt::format("the CUDA driver refused a tensor map (error {}) that breaks no rule Warpmill knows; please "
                    "report it with this description:\n{}",
                    static_cast<int>(result), spec.describe()));
  return map;
}

}  // namespace wm::tensor_map
