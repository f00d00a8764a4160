// The commands of the program, each with its options as a value. They print, and return the exit status.
#pragma once

#include <filesystem>
#include <string>

#include "warpmill/virtual.hpp"

namespace wm::cli {

// Exit statuses of every command.
inline constexpr int success = 0;
inline constexpr int wrong_result = 1;  // it ran, and a comparison did not hold
inline constexpr int could_not_run = 2;

struct RunCommand {
  std::filesystem::path file;
  std::string device;
  std::string emit;  // "ptx", "cubin" or nothing
  std::filesystem::path output;
  int repeat = 1;
  bool json = false;
  vgpu::RunOptions virtual_options;
};
int run(const RunCommand& command);

struct DemoCommand {
  std::filesystem::path folder;
  std::string device;
  vgpu::RunOptions virtual_options;
};
int demo(const DemoCommand& command);

int doctor(bool json);
int devices(bool json);
int cache(bool clear, bool json);

}  // namespace wm::cli
