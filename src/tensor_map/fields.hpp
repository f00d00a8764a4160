// A tensor map as the hardware reads it: fixed arrays, innermost dimension first, like the coordinates of the copy
// instructions. The driver's arguments, the virtual form and the copy engine all start from here.
#pragma once

#include <array>
#include <cstdint>

#include "warpmill/tensor_map.hpp"

namespace wm::tensor_map {

inline constexpr int max_rank = 5;

constexpr bool is_im2col(MapMode mode) { return mode != MapMode::tiled; }
// Pixels along W alone.
constexpr bool is_wide(MapMode mode) { return mode == MapMode::im2col_w || mode == MapMode::im2col_w128; }
// Offsets that a corner of a map of `rank` dimensions has.
constexpr std::size_t corner_offsets(MapMode mode, std::size_t rank) { return is_wide(mode) ? 1 : rank - 2; }
inline constexpr std::int64_t w128_pixels = 128, w128_chunk = 32;  // a halo follows each chunk

struct Fields {
  MapMode mode = MapMode::tiled;
  MapElement element = MapElement::u8;
  Interleave interleave = Interleave::none;
  Swizzle swizzle = Swizzle::none;
  L2Promotion l2_promotion = L2Promotion::none;
  OutOfBounds fill = OutOfBounds::zeros;
  std::uint32_t rank = 1;
  std::uint64_t address = 0;
  std::array<std::uint64_t, max_rank> dims{};         // elements
  std::array<std::uint64_t, max_rank - 1> strides{};  // bytes; strides[i] is that of dims[i + 1]
  std::array<std::uint32_t, max_rank> element_strides{};
  std::array<std::uint32_t, max_rank> box{};     // tiled
  std::array<std::int32_t, 3> lower{}, upper{};  // im2col: W, H, D; of wide modes W
  std::uint32_t channels = 0, pixels = 0;        // im2col; im2col_w128 has its own number of pixels
  bool operator==(const Fields&) const = default;
};

// The lengths of the spec's lists must agree with its rank (rule "lengths" and "rank"); values are carried as they are.
Fields to_fields(const TensorMapSpec& spec);
TensorMapSpec to_spec(const Fields& fields);

}  // namespace wm::tensor_map
