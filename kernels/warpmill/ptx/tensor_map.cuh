// tensormap.replace (sm_90a): single fields of a tiled tensor map changed on the device.
//
// One thread, on a map in shared memory (SharedAddress) or in global memory (TensorMap*); both aligned to 128 bytes.
// The changes are ordinary writes to memory: before a copy uses the map, the writer runs fence::tensor_map_release (or
// moves it with publish) and the copying thread fence::tensor_map_acquire. `dimension` counts from the innermost, 0
// to 4.
#pragma once

#include "warpmill/types.cuh"

namespace wm::tensor_map {

// Values of the map's fields as the instruction takes them (not the driver's enumerations).
enum class ElementType : u32 {
  u8 = 0,
  u16 = 1,
  u32 = 2,
  i32 = 3,
  u64 = 4,
  i64 = 5,
  f16 = 6,
  f32 = 7,
  f32_ftz = 8,
  f64 = 9,
  bf16 = 10,
  tf32 = 11,
  tf32_ftz = 12
};
enum class Interleave : u32 { none = 0, bytes16 = 1, bytes32 = 2 };
enum class Swizzle : u32 { none = 0, bytes32 = 1, bytes64 = 2, bytes128 = 3 };
enum class Fill : u32 { zero = 0, nan = 1 };

// The fields that take a value from a register, each for both places a map may lie in.
#define WM_REPLACE(function, field, type, width, constraint)                                                     \
  WM_DEVICE void function(SharedAddress map, type value) {                                                       \
    asm volatile("tensormap.replace.tile." field ".shared::cta.b1024." width " [%0], %1;" ::"r"(map.value),      \
                 constraint(value)                                                                               \
                 : "memory");                                                                                    \
  }                                                                                                              \
  WM_DEVICE void function(TensorMap* map, type value) {                                                          \
    asm volatile("tensormap.replace.tile." field ".global.b1024." width " [%0], %1;" ::"l"(global_address(map)), \
                 constraint(value)                                                                               \
                 : "memory");                                                                                    \
  }
// tensormap.replace.tile.global_address: where the tensor lies (aligned to 16 bytes).
WM_REPLACE(set_global_address, "global_address", u64, "b64", "l")
// tensormap.replace.tile.rank: the number of dimensions less one.
WM_REPLACE(set_rank, "rank", u32, "b32", "r")
#undef WM_REPLACE

// The fields there is one of for each dimension.
#define WM_REPLACE(function, field, type, width, constraint)                                                         \
  template <int dimension>                                                                                           \
  WM_DEVICE void function(SharedAddress map, type value) {                                                           \
    static_assert(dimension >= 0 && dimension < 5, "a tensor map has dimensions 0 (innermost) to 4");                \
    asm volatile("tensormap.replace.tile." field ".shared::cta.b1024." width " [%0], %1, %2;" ::"r"(map.value),      \
                 "n"(dimension), constraint(value)                                                                   \
                 : "memory");                                                                                        \
  }                                                                                                                  \
  template <int dimension>                                                                                           \
  WM_DEVICE void function(TensorMap* map, type value) {                                                              \
    static_assert(dimension >= 0 && dimension < 5, "a tensor map has dimensions 0 (innermost) to 4");                \
    asm volatile("tensormap.replace.tile." field ".global.b1024." width " [%0], %1, %2;" ::"l"(global_address(map)), \
                 "n"(dimension), constraint(value)                                                                   \
                 : "memory");                                                                                        \
  }
// tensormap.replace.tile.box_dim: elements of the box.
WM_REPLACE(set_box, "box_dim", u32, "b32", "r")
// tensormap.replace.tile.global_dim: elements of the tensor.
WM_REPLACE(set_size, "global_dim", u32, "b32", "r")
// tensormap.replace.tile.element_stride: steps between elements taken.
WM_REPLACE(set_element_stride, "element_stride", u32, "b32", "r")
// tensormap.replace.tile.global_stride: bytes from one index of dimension + 1 to the next, as the driver's
// globalStrides[dimension].
WM_REPLACE(set_stride, "global_stride", u64, "b64", "l")
#undef WM_REPLACE

// The fields whose value is part of the instruction.
#define WM_REPLACE(function, field, type)                                                                  \
  template <type value>                                                                                    \
  WM_DEVICE void function(SharedAddress map) {                                                             \
    asm volatile("tensormap.replace.tile." field ".shared::cta.b1024.b32 [%0], %1;" ::"r"(map.value),      \
                 "n"(static_cast<u32>(value))                                                              \
                 : "memory");                                                                              \
  }                                                                                                        \
  template <type value>                                                                                    \
  WM_DEVICE void function(TensorMap* map) {                                                                \
    asm volatile("tensormap.replace.tile." field ".global.b1024.b32 [%0], %1;" ::"l"(global_address(map)), \
                 "n"(static_cast<u32>(value))                                                              \
                 : "memory");                                                                              \
  }
// tensormap.replace.tile.elemtype, .interleave_layout, .swizzle_mode and .fill_mode.
WM_REPLACE(set_element_type, "elemtype", ElementType)
WM_REPLACE(set_interleave, "interleave_layout", Interleave)
WM_REPLACE(set_swizzle, "swizzle_mode", Swizzle)
WM_REPLACE(set_fill, "fill_mode", Fill)
#undef WM_REPLACE

// tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.<scope>.sync.aligned: copies a map built in
// shared memory to global memory and releases it there. The whole warp, converged.
template <Scope scope>
WM_DEVICE void publish(TensorMap* to, SharedAddress from) {
#define WM_PUBLISH(name)                                                                     \
  asm volatile("tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release." name \
               ".sync.aligned [%0], [%1], 128;" ::"l"(global_address(to)),                   \
               "r"(from.value)                                                               \
               : "memory")
  if constexpr (scope == Scope::block) WM_PUBLISH("cta");
  if constexpr (scope == Scope::cluster) WM_PUBLISH("cluster");
  if constexpr (scope == Scope::device) WM_PUBLISH("gpu");
  if constexpr (scope == Scope::system) WM_PUBLISH("sys");
#undef WM_PUBLISH
}

}  // namespace wm::tensor_map
