// The virtual device's tensor map: 128 bytes that hold every field. A kernel may write them or change them with
// tensormap.replace, so reading them trusts nothing.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "tensor_map/fields.hpp"
#include "warpmill/architecture.hpp"

namespace wm::tensor_map {

TensorMap encode_virtual(const TensorMapSpec& spec);

// Of a map in the hardware's own form too. Throws invalid_argument: bytes that are neither, or the rule that the map
// breaks on this chip, which nobody may have asked when it was made.
inline constexpr Architecture newest_chip{10, 0, true};
Fields decode_virtual(std::span<const std::byte, 128> bytes, const Architecture& chip = newest_chip);

// The fields of tensormap.replace.tile, by their PTX names.
enum class Replaceable : std::uint8_t {
  global_address,
  rank,
  box_dim,
  global_dim,
  global_stride,
  element_stride,
  elemtype,
  interleave_layout,
  swizzle_mode,
  swizzle_atomicity,
  fill_mode,
};
Replaceable replaceable_from_name(std::string_view name);  // throws invalid_argument and lists the names

// tensormap.replace: puts `value`, meaning what PTX says for the field (the rank is one less than the dimensions, a
// stride is in bytes), into the map. `ordinal` counts dimensions from the innermost, for the fields that have one per
// dimension. Only the value itself is checked here: a map is judged as a whole when it is used, because a kernel
// changes one field after another. A map in the hardware's form becomes one of ours, which can hold wrong values too.
void replace(std::span<std::byte, 128> bytes, Replaceable field, std::uint32_t ordinal, std::uint64_t value);

}  // namespace wm::tensor_map
