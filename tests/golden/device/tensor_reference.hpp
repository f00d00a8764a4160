// Where a tensor copy finds and puts each element, written down from the manual and independently of the virtual GPU.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "warpmill/tensor_map.hpp"

namespace wm::golden {

// Coordinates and offsets as the instruction has them: innermost first. The same struct as in tensors.cu.
struct Place {
  std::array<std::int32_t, 5> at{};
  std::array<std::uint16_t, 4> offset{};
};

// Calls visit(place in shared memory, place in the tensor or -1 where outside), both in bytes, for each element of the
// box. The tile lies at a multiple of 1024.
void for_each_element(const TensorMapSpec& spec, const Place& place,
                      const std::function<void(std::int64_t tile, std::int64_t global)>& visit);

}  // namespace wm::golden
