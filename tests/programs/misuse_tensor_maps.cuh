// Tensor maps that cannot be, and copies with maps that are none.
#pragma once

#include <cuda.h>

#include "misuse.cuh"

// A good description, 64 x 64 floats in boxes of 32 x 8; each misuse spoils one field.
struct Description {
  CUtensorMapDataType type = CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
  unsigned rank = 2;
  void* address = device_memory<float>(64 * 64);
  cuuint64_t sizes[6] = {64, 64, 1, 1, 1, 1};
  cuuint64_t strides[5] = {256, 16384, 16384, 16384, 16384};  // bytes
  cuuint32_t box[6] = {32, 8, 1, 1, 1, 1};
  cuuint32_t steps[6] = {1, 1, 1, 1, 1, 1};
  CUtensorMapInterleave interleave = CU_TENSOR_MAP_INTERLEAVE_NONE;
  CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_NONE;
  CUtensorMapFloatOOBfill fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE;
};

inline CUresult encode(CUtensorMap& map, const Description& description) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult status;
  good(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000, cudaEnableDefault, &status));
  return reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(found)(
      &map, description.type, description.rank, description.address, description.sizes, description.strides,
      description.box, description.steps, description.interleave, description.swizzle, CU_TENSOR_MAP_L2_PROMOTION_NONE,
      description.fill);
}

// The driver's codes have the runtime's numbers; the runtime is not told of them.
template <class Spoil>
cudaError_t spoilt(Spoil spoil) {
  Description description;
  spoil(description);
  CUtensorMap map;
  return static_cast<cudaError_t>(encode(map, description));
}

__global__ void copy_box(const __grid_constant__ CUtensorMap map, int column) {
  __shared__ alignas(128) float box[32 * 8];
  __shared__ alignas(8) unsigned long long arrived;
  expect_bytes(&arrived, sizeof(box));
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::
          "r"(shared_address(box)),
      "l"(&map), "r"(column), "r"(0), "r"(shared_address(&arrived))
      : "memory");
  await_bytes(&arrived);
}

inline cudaError_t run_copy_box(const CUtensorMap& map, int column) {
  const cudaLaunchConfig_t config = shape(1, 1);
  return cudaLaunchKernelEx(&config, copy_box, map, column);
}

inline std::vector<Misuse> tensor_map_misuses() {
  return {
      {"tensor_map_good", [] { return spoilt([](Description&) {}); }},
      {"tensor_map_of_null", [] { return spoilt([](Description& d) { d.address = nullptr; }); }},
      {"tensor_map_misaligned",
       [] { return spoilt([](Description& d) { d.address = static_cast<char*>(d.address) + 8; }); }},
      {"tensor_map_of_host_memory", [] { return spoilt([](Description& d) { d.address = &d; }); }},
      {"tensor_map_odd_stride", [] { return spoilt([](Description& d) { d.strides[0] = 260; }); }},
      {"tensor_map_no_size", [] { return spoilt([](Description& d) { d.sizes[1] = 0; }); }},
      {"tensor_map_box_of_257", [] { return spoilt([](Description& d) { d.box[1] = 257; }); }},
      {"tensor_map_box_of_none", [] { return spoilt([](Description& d) { d.box[0] = 0; }); }},
      {"tensor_map_box_of_12_bytes", [] { return spoilt([](Description& d) { d.box[0] = 3; }); }},
      {"tensor_map_box_wider_than_swizzle",
       [] { return spoilt([](Description& d) { d.swizzle = CU_TENSOR_MAP_SWIZZLE_64B; }); }},
      {"tensor_map_rank_6", [] { return spoilt([](Description& d) { d.rank = 6; }); }},
      {"tensor_map_rank_0", [] { return spoilt([](Description& d) { d.rank = 0; }); }},
      {"tensor_map_step_of_none", [] { return spoilt([](Description& d) { d.steps[1] = 0; }); }},
      {"tensor_map_step_of_9", [] { return spoilt([](Description& d) { d.steps[1] = 9; }); }},
      {"tensor_map_type_that_is_none",
       [] { return spoilt([](Description& d) { d.type = static_cast<CUtensorMapDataType>(99); }); }},
      {"tensor_map_nan_for_integers",
       [] {
         return spoilt([](Description& d) {
           d.type = CU_TENSOR_MAP_DATA_TYPE_INT32;
           d.fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA;
         });
       }},
      {"tensor_copy_with_no_map", [] { return run_copy_box(CUtensorMap{}, 0); }},
      {"tensor_copy_at_odd_column",
       [] {
         CUtensorMap map;
         std::printf("map: %d\n", static_cast<int>(encode(map, Description())));
         return run_copy_box(map, 1);
       }},
      {"tensor_copy_of_freed_memory",
       [] {
         CUtensorMap map;
         Description description;
         description.address = device_memory<float>(16 << 20);
         std::printf("map: %d\n", static_cast<int>(encode(map, description)));
         good(cudaFree(description.address));
         return run_copy_box(map, 0);
       }},
  };
}
