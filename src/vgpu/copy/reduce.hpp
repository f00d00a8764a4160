// Reductions of bulk and tensor copies: destination = destination op source, element by element.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "warpmill/tensor_map.hpp"

namespace wm::vgpu::copy {

enum class Reduction : std::uint8_t { add, min, max, inc, dec, bit_and, bit_or, bit_xor };

Reduction reduction_from_name(std::string_view name);  // "add", "and", ...; throws invalid_argument and lists them

// Whether the chip has the reduction for the element type. (and, or and xor of i64 are illegal instructions, u64's are
// not.)
bool has_reduction(Reduction reduction, MapElement element);

// Both ranges hold `bytes`, a multiple of the element; the destination is aligned to elements, which are updated
// atomically one by one. Throws unsupported where has_reduction is false.
void reduce_elements(Reduction reduction, MapElement element, std::byte* destination, const std::byte* source,
                     std::size_t bytes);

}  // namespace wm::vgpu::copy
