// A CUDA program of somebody else, run on the virtual GPU.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "warpmill/virtual.hpp"

namespace wm::cli {

struct ProgramCommand {
  std::vector<std::string> words;  // the program and its arguments
  bool judge = false;
  std::string device = "virtual:sm_90a";
  int devices = 1;
  std::vector<std::string> kernels, skipped_kernels;
  std::uint64_t skip = 0, count = 0;
  std::uint64_t seeds = 1;
  std::vector<vgpu::Mode> modes;
  std::uint64_t max_instructions = 0;
  std::vector<std::string> ptx;  // folders with the PTX of machine code that the program makes
  bool strict = false;           // warnings are errors
  std::filesystem::path json;    // where the report goes too; empty: nowhere
};

// The words after `warpmill`, where they are `run` or `check`, options and a program: a file that may be executed, and
// no case; or anything behind `--`. What comes after the program is its own. Throws invalid_argument for options that
// there are not.
std::optional<ProgramCommand> program_command(const std::vector<std::string>& words);

// The program's own status; 1 where the judge found an error; 128 and the number of the signal that ended it.
int run_program(const ProgramCommand& command);

}  // namespace wm::cli
