// cuTensorMapEncode*: the arguments become a specification, which our builder checks and encodes.
#include <cstring>

#include "cudart/face.hpp"
#include "tensor_map/virtual_form.hpp"
#include "warpmill/error.hpp"

using namespace wm::cudart;

namespace {

using wm::tensor_map::Fields;

// What tiled and im2col maps have in common.
Fields fields_of(CUtensorMapDataType type, cuuint32_t rank, void* address, const cuuint64_t* dims,
                 const cuuint64_t* strides, const cuuint32_t* element_strides, CUtensorMapInterleave interleave,
                 CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill) {
  require(rank >= 1 && rank <= wm::tensor_map::max_rank && dims != nullptr && element_strides != nullptr);
  require(rank == 1 || strides != nullptr);
  require(type <= CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B && interleave <= CU_TENSOR_MAP_INTERLEAVE_32B &&
          swizzle <= CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B && promotion <= CU_TENSOR_MAP_L2_PROMOTION_L2_256B);
  Fields fields;
  fields.element = static_cast<wm::MapElement>(type);
  fields.rank = rank;
  fields.address = reinterpret_cast<std::uint64_t>(address);
  fields.interleave = static_cast<wm::Interleave>(interleave);
  fields.swizzle = static_cast<wm::Swizzle>(swizzle);
  fields.l2_promotion = static_cast<wm::L2Promotion>(promotion);
  fields.fill = static_cast<wm::OutOfBounds>(fill);
  for (cuuint32_t i = 0; i < rank; ++i) {
    fields.dims[i] = dims[i];
    fields.element_strides[i] = element_strides[i];
    if (i + 1 < rank) fields.strides[i] = strides[i];
  }
  return fields;
}

void encode(CUtensorMap* map, const Fields& fields) {
  require(map != nullptr && reinterpret_cast<std::uintptr_t>(map) % 64 == 0);
  const wm::TensorMapSpec spec = wm::tensor_map::to_spec(fields);
  wm::check(spec, Platform::get().chip().arch);  // the reason goes to standard error
  const wm::TensorMap encoded = wm::tensor_map::encode_virtual(spec);
  static_assert(sizeof(encoded.bytes) == sizeof(*map));
  std::memcpy(map, encoded.bytes, sizeof(*map));
}

}  // namespace

WARPMILL_FACE CUresult cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank,
                                              void* address, const cuuint64_t* dims, const cuuint64_t* strides,
                                              const cuuint32_t* box, const cuuint32_t* element_strides,
                                              CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                              CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill) {
  note_initialised();
  return driver_answer([&] {
    Fields fields =
        fields_of(type, rank, address, dims, strides, element_strides, interleave, swizzle, promotion, fill);
    require(box != nullptr);
    for (cuuint32_t i = 0; i < rank; ++i) fields.box[i] = box[i];
    encode(map, fields);
  });
}

WARPMILL_FACE CUresult cuTensorMapEncodeIm2col(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank,
                                               void* address, const cuuint64_t* dims, const cuuint64_t* strides,
                                               const int* lower, const int* upper, cuuint32_t channels,
                                               cuuint32_t pixels, const cuuint32_t* element_strides,
                                               CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                               CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill) {
  note_initialised();
  return driver_answer([&] {
    Fields fields =
        fields_of(type, rank, address, dims, strides, element_strides, interleave, swizzle, promotion, fill);
    require(rank >= 3 && lower != nullptr && upper != nullptr);
    fields.mode = wm::MapMode::im2col;
    for (cuuint32_t i = 0; i + 2 < rank; ++i) {
      fields.lower[i] = lower[i];
      fields.upper[i] = upper[i];
    }
    fields.channels = channels;
    fields.pixels = pixels;
    encode(map, fields);
  });
}

WARPMILL_FACE CUresult cuTensorMapEncodeIm2colWide(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank,
                                                   void* address, const cuuint64_t* dims, const cuuint64_t* strides,
                                                   int lower, int upper, cuuint32_t channels, cuuint32_t pixels,
                                                   const cuuint32_t* element_strides, CUtensorMapInterleave interleave,
                                                   CUtensorMapIm2ColWideMode mode, CUtensorMapSwizzle swizzle,
                                                   CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill) {
  note_initialised();
  return driver_answer([&] {
    Fields fields =
        fields_of(type, rank, address, dims, strides, element_strides, interleave, swizzle, promotion, fill);
    require(rank >= 3 && mode <= CU_TENSOR_MAP_IM2COL_WIDE_MODE_W128);
    fields.mode = mode == CU_TENSOR_MAP_IM2COL_WIDE_MODE_W ? wm::MapMode::im2col_w : wm::MapMode::im2col_w128;
    fields.lower[0] = lower;
    fields.upper[0] = upper;
    fields.channels = channels;
    fields.pixels = pixels;
    encode(map, fields);
  });
}

WARPMILL_FACE CUresult cuTensorMapReplaceAddress(CUtensorMap* map, void* address) {
  note_initialised();
  return driver_answer([&] {
    require(map != nullptr);
    wm::tensor_map::replace(std::as_writable_bytes(std::span<CUtensorMap, 1>(map, 1)),
                            wm::tensor_map::Replaceable::global_address, 0, reinterpret_cast<std::uint64_t>(address));
  });
}
