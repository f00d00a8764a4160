// Tensor maps: what the copy engine (TMA) needs to know of a tensor, checked rule by rule before it is encoded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "warpmill/api.hpp"
#include "warpmill/architecture.hpp"
#include "warpmill/buffer.hpp"
#include "warpmill/device.hpp"
#include "warpmill/dtype.hpp"
#include "warpmill/shared_types.h"

namespace wm {

// The encoded map: the driver's form on a GPU, Warpmill's own on the virtual device. (TensorMap is a shared type.)
inline std::span<const std::byte, 128> bytes_of(const TensorMap& map) { return std::as_bytes(std::span(map.bytes)); }
inline std::span<std::byte, 128> bytes_of(TensorMap& map) { return std::as_writable_bytes(std::span(map.bytes)); }

// What the engine takes an element for. It decides the size, the fill of out-of-bounds elements, the arithmetic of
// reductions, and for the tf32 and ftz types a conversion on the way. The last three pack sixteen small values into 8,
// 16 and 16 bytes of shared memory (Blackwell).
enum class MapElement : std::uint8_t {
  u8,
  u16,
  u32,
  i32,
  u64,
  i64,
  f16,
  f32,
  f64,
  bf16,
  f32_ftz,
  tf32,
  tf32_ftz,
  u4x16_align8,
  u4x16_align16,
  u6x16_align16,
};
enum class Interleave : std::uint8_t { none, b16, b32 };
enum class Swizzle : std::uint8_t { none, b32, b64, b128, b128_atom32, b128_atom32_flip8, b128_atom64 };
enum class L2Promotion : std::uint8_t { none, b64, b128, b256 };
enum class OutOfBounds : std::uint8_t { zeros, nan };
// im2col_w and im2col_w128 (Blackwell) take pixels along W alone: as many as the map says, or 128, and behind them, or
// behind each 32, as many more as the copy says (its halo).
enum class MapMode : std::uint8_t { tiled, im2col, im2col_w, im2col_w128 };

WARPMILL_API MapElement map_element(DType dtype);      // e4m3, e5m2 and i8 travel as u8, i16 as u16
WARPMILL_API std::size_t bits_of(MapElement element);  // an element in global memory: 4, 6, 8, ... 64
WARPMILL_API bool is_floating(MapElement element);
WARPMILL_API std::size_t span_of(Swizzle swizzle);  // bytes within which it moves chunks; 0 for none

// The names used in case files and messages: "bf16", "128B", "128B_atom_32B", "nan", ... Reading an unknown name
// throws invalid_argument and lists the names there are.
WARPMILL_API std::string_view name_of(MapMode mode);
WARPMILL_API std::string_view name_of(MapElement element);
WARPMILL_API std::string_view name_of(Interleave interleave);
WARPMILL_API std::string_view name_of(Swizzle swizzle);
WARPMILL_API std::string_view name_of(L2Promotion promotion);
WARPMILL_API std::string_view name_of(OutOfBounds fill);
WARPMILL_API MapElement map_element_from_name(std::string_view name);
WARPMILL_API Interleave interleave_from_name(std::string_view name);
WARPMILL_API Swizzle swizzle_from_name(std::string_view name);
WARPMILL_API L2Promotion l2_promotion_from_name(std::string_view name);
WARPMILL_API OutOfBounds out_of_bounds_from_name(std::string_view name);

// A map in words of the caller: every list has the outermost dimension first, like all shapes in Warpmill. (The
// driver and the coordinates of the instructions have the innermost first; the conversion happens inside.)
struct WARPMILL_API TensorMapSpec {
  MapMode mode = MapMode::tiled;
  MapElement element = MapElement::f32;
  std::uint64_t address = 0;
  std::vector<std::int64_t> dims{};             // elements
  std::vector<std::int64_t> strides{};          // BYTES, of all dimensions but the innermost, which is contiguous
  std::vector<std::int64_t> element_strides{};  // empty: all 1
  Interleave interleave = Interleave::none;
  Swizzle swizzle = Swizzle::none;
  L2Promotion l2_promotion = L2Promotion::none;
  OutOfBounds fill = OutOfBounds::zeros;

  std::vector<std::int64_t> box{};  // tiled: elements traversed along each dimension

  // im2col: tensors N W C, N H W C or N D H W C. Corners have one offset each of D, H, W (of im2col_w and im2col_w128
  // of W alone): the lower counts from the first pixel, the upper from the last.
  std::vector<std::int64_t> lower_corner{}, upper_corner{};
  std::int64_t channels_per_pixel = 0;
  std::int64_t pixels_per_column = 0;

  // A map of a view's elements, L2 promotion 128B. The view's innermost dimension must be contiguous.
  static TensorMapSpec tiled(const View& view, std::vector<std::int64_t> box, Swizzle swizzle = Swizzle::none);
  static TensorMapSpec im2col(const View& view, std::vector<std::int64_t> lower_corner,
                              std::vector<std::int64_t> upper_corner, std::int64_t channels_per_pixel,
                              std::int64_t pixels_per_column, Swizzle swizzle = Swizzle::none);

  std::size_t rank() const { return dims.size(); }
  // Bytes that one copy moves and its mbarrier counts, but for those of a halo; the spec must be legal.
  std::size_t box_bytes() const;
  // Bytes of shared memory that the tile takes: more where rows are narrower than the swizzle's span, because each
  // begins a span of its own.
  std::size_t tile_bytes() const;
  // The map in words, with a note for each documented rule that it breaks and the driver does not enforce, and the
  // refusal where there is one. Works on any spec, legal or not.
  std::string describe(const Architecture& arch = {9, 0, true}) const;

  bool operator==(const TensorMapSpec&) const = default;
};

// Throws invalid_argument (unsupported where only the architecture is in the way) with the rule that is broken, the
// value that breaks it and a way out; docs/tensor-maps.md lists the rules.
WARPMILL_API void check(const TensorMapSpec& spec, const Architecture& arch);

// Checks the spec against the device's rules and encodes it for the device.
WARPMILL_API TensorMap make_tensor_map(const Device& device, const TensorMapSpec& spec);

}  // namespace wm
