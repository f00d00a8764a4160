// A kernel as its caller sees it, and the shape of a launch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "common/launch_rules.hpp"
#include "warpmill/module.hpp"

namespace wm::vgpu {

struct LaunchShape {
  Dim3 grid, block, cluster;
  std::uint32_t shared_bytes = 0;
  std::uint64_t meeting_place = 0;  // of a cooperative launch: the memory that %envreg1 and %envreg2 name
};

// The address of a variable that another module defines; 0: there is none.
using Linked = std::function<std::uint64_t(std::string_view variable)>;

struct ProgramKernel {
  std::string name;
  std::vector<Parameter> parameters;
  std::size_t parameter_bytes = 0;
  std::size_t static_shared_bytes = 0, local_bytes = 0;
  std::uint32_t max_threads = most_block_threads;
  Dim3 required_block{0, 0, 0}, required_cluster{0, 0, 0};  // .reqntid, .reqnctapercluster; zeros: free
};

}  // namespace wm::vgpu
