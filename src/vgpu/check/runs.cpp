// The runs that a check is made of.
#include "vgpu/check/runs.hpp"

namespace wm::vgpu {

std::vector<CheckRun> runs_of_check(const std::vector<Mode>& modes, std::uint64_t seeds) {
  const std::vector<Mode> all = {Mode::friendly, Mode::random, Mode::adversarial};
  std::vector<CheckRun> runs;
  for (const Mode mode : modes.empty() ? all : modes)
    for (std::uint64_t seed = 0; seed < (mode == Mode::friendly ? 1 : seeds); ++seed) runs.push_back({mode, seed});
  return runs;
}

}  // namespace wm::vgpu
