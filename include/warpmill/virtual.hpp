// How kernels run on the virtual GPU, and what a run did.
#pragma once

#include <cstdint>
#include <string>

#include "warpmill/device.hpp"

namespace wm::vgpu {

enum class Mode { friendly, random, adversarial };

struct RunOptions {
  Mode mode = Mode::friendly;
  std::uint64_t seed = 0;
  bool deterministic = false;          // one host thread, the order a function of mode and seed
  int host_threads = 0;                // 0: all cores
  bool chip_sums = false;              // tensor cores add as the chip's do, bit for bit: a hundred times slower
  std::uint64_t max_instructions = 0;  // warp instructions, all blocks together; 0: no limit
};

struct RunReport {
  std::uint64_t warp_instructions = 0;
  std::uint64_t blocks = 0;
  std::string printed;  // what the kernel's printf wrote; it went to standard output too, as a GPU's does
};

// A virtual device's options hold for every launch on it from then on; its report is that of the launch that ended
// last. Each throws invalid_argument for a device that is not virtual.
void set_run_options(const Device& device, const RunOptions& options);
RunOptions run_options(const Device& device);
RunReport last_run(const Device& device);

}  // namespace wm::vgpu
