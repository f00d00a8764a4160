// The 128 bytes of the virtual device's own tensor map, and PTX's numbers of the element types.
#pragma once

#include <array>
#include <cstdint>
#include <type_traits>

#include "tensor_map/fields.hpp"

namespace wm::tensor_map {

// Numbers are wide enough for every value tensormap.replace can leave behind, or saturate to one that no rule accepts,
// so that a wrong value is still wrong when the map is used.
struct Packed {
  std::array<char, 4> magic;
  std::uint8_t version, mode, rank, element;
  std::uint8_t interleave, swizzle_mode, swizzle_atomicity, l2_promotion;
  std::uint8_t fill;
  std::array<std::uint8_t, 3> zero;
  std::uint64_t address;
  std::array<std::uint64_t, 5> dims;
  std::array<std::uint64_t, 4> strides;
  std::array<std::uint16_t, 5> box;
  std::array<std::int16_t, 3> lower, upper;
  std::uint16_t channels, pixels;
  std::array<std::uint8_t, 5> element_strides;
  std::uint8_t tail;
};
static_assert(sizeof(Packed) == 128 && std::is_trivially_copyable_v<Packed>);

inline constexpr std::array<char, 4> packed_magic{'w', 'm', 'T', 'M'};
inline constexpr std::uint8_t packed_version = 1;

// A tiled map whose fields are still to come.
constexpr Packed begin_packed() {
  Packed packed{};
  packed.magic = packed_magic;
  packed.version = packed_version;
  return packed;
}

// PTX numbers the element types in another order than the driver.
inline constexpr std::array<MapElement, 16> ptx_elements{
    MapElement::u8,       MapElement::u16,          MapElement::u32,           MapElement::i32,
    MapElement::u64,      MapElement::i64,          MapElement::f16,           MapElement::f32,
    MapElement::f32_ftz,  MapElement::f64,          MapElement::bf16,          MapElement::tf32,
    MapElement::tf32_ftz, MapElement::u4x16_align8, MapElement::u4x16_align16, MapElement::u6x16_align16};

}  // namespace wm::tensor_map
