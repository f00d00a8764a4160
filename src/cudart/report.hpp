// What a program's kernels did and what the judge found in them: written by each process of the program while it runs,
// read by `warpmill` when it has ended.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "warpmill/check.hpp"

namespace wm::cudart {

struct KernelReport {
  std::string name;  // as in the PTX
  std::uint64_t launches = 0, judged = 0;
  std::uint64_t instructions = 0, blocks = 0;
  vgpu::CheckReport check;          // of the judged launches
  std::vector<std::string> faults;  // what ended launches, each text once
  std::string refused;              // why it cannot run here at all
};

// One line of a process's file; a later one for the same kernel takes the place of an earlier one.
std::string to_line(const KernelReport& kernel);
// Of all processes that wrote into the folder, a kernel's together, in the order of first launches. What cannot be read
// is left out: a process may have been killed while it wrote.
std::vector<KernelReport> read_reports(const std::filesystem::path& folder);

// Shared between the processes while the program runs, in a file of the folder.
struct LiveProgress {
  std::atomic<std::uint64_t> launches, instructions, blocks_done, blocks;
  static constexpr const char* file_name = "progress";
};
LiveProgress* map_progress(const std::filesystem::path& folder);  // null where it cannot be

}  // namespace wm::cudart
