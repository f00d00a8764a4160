// The runs that a check is made of.
#pragma once

#include <cstdint>
#include <vector>

#include "warpmill/virtual.hpp"

namespace wm::vgpu {

struct CheckRun {
  Mode mode = Mode::friendly;
  std::uint64_t seed = 0;
};
// Those that see a kernel from all sides: in each of these modes (none: in all) with so many seeds; once in the
// friendly one, which has no dice.
std::vector<CheckRun> runs_of_check(const std::vector<Mode>& modes, std::uint64_t seeds);

}  // namespace wm::vgpu
