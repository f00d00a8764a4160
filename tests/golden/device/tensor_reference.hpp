// What a tensor copy moves, written from the definition and independent of the virtual GPU's engine.
#pragma once

#include <array>
#include <cstdint>
#include <functional>

#include "warpmill/tensor_map.hpp"

namespace wm::golden {

// Coordinates of an instruction, innermost first; the same struct as in tensors.cu.
struct Place {
  std::array<std::int32_t, 5> at{};
  std::array<std::uint16_t, 4> offset{};
};

// Where the innermost dimension ends for a copy: loads know each element, stores and reductions whole 16-byte pieces.
enum class End { element, piece };

// Calls visit(tile, global) for every element of the tile: bytes from the tile's start (which is a multiple of 1024)
// and bytes from the tensor's start, or -1 where it is outside.
void for_each_element(const TensorMapSpec& spec, const Place& place, End end,
                      const std::function<void(std::int64_t, std::int64_t)>& visit);

// Bytes of shared memory from the tile's first to its last. A swizzled row takes the swizzle's whole span; the mbarrier
// counts only what is moved.
std::uint32_t extent_of(const TensorMapSpec& spec);

}  // namespace wm::golden
