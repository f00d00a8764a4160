// What `warpmill run` and `warpmill check` ask of the program's runtime, handed over in the environment.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "warpmill/virtual.hpp"

namespace wm::cudart {

struct Settings {
  std::string arch = "sm_90a";
  int multiprocessors = 0;  // 0: as the chip has
  int devices = 1;
  bool judge = false;
  std::vector<std::string> kernels, skipped_kernels;  // patterns of names with *, ? and |; none: all, none
  std::uint64_t skip = 0, count = 0;                  // launches of those kernels; count 0: all
  std::uint64_t seeds = 1;                            // runs of each mode that has dice
  std::vector<vgpu::Mode> modes;                      // none: friendly
  std::uint64_t max_instructions = 0;
  bool strict = false;                   // warnings are errors
  std::vector<std::string> kept, named;  // folders where compilers keep PTX beside machine code; those of --ptx
  std::string report;                    // folder for reports of processes; none: nothing is reported
};

inline constexpr const char* settings_variable = "WARPMILL_PROGRAM";

std::string to_text(const Settings& settings);
Settings settings_from_text(const std::string& text);  // throws invalid_argument

}  // namespace wm::cudart
