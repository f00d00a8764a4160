// The hardware's own form of a tensor map, tiled or im2col, as it is written by compilers that do without the driver:
// CuTe DSL, on the host and in kernels. No document describes it; hardware_form.cpp says what is known of it.
#pragma once

#include <cstddef>
#include <span>

#include "tensor_map/packed.hpp"

namespace wm::tensor_map {

// The other half of a map's 128 bytes means nothing: kernels that make maps leave it unwritten.
inline constexpr std::size_t hardware_bytes = 64;
using HardwareBytes = std::span<const std::byte, hardware_bytes>;

// Whether the bits that every such map has are as they should be. Its fields may still be wrong.
bool is_hardware_form(HardwareBytes bytes);

// The fields of such a map, right or wrong. Throws invalid_argument where its type of elements is none.
Packed read_hardware_form(HardwareBytes bytes);

}  // namespace wm::tensor_map
