// What the shape of a launch is held to, on every device that runs kernels here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "warpmill/architecture.hpp"
#include "warpmill/module.hpp"

namespace wm {

inline constexpr std::uint32_t most_block_threads = 1024;

std::uint32_t most_cluster_blocks(const Architecture& arch);  // 1: it has no clusters

// What a kernel was compiled for, and where it is to run.
struct LaunchRules {
  Architecture arch;
  std::uint32_t cluster_blocks = 1;                         // at most
  std::uint32_t block_threads = most_block_threads;         // at most
  std::uint32_t registers = 0;                              // a thread; 0: not known
  Dim3 required_block{0, 0, 0}, required_cluster{0, 0, 0};  // zeros: free
};

// The cluster that a launch has: the kernel's own where none is asked for.
Dim3 cluster_of(const LaunchRules& rules, const Dim3& asked);

// Why such a launch is refused; nothing where it is not, which costs a few comparisons.
std::optional<std::string> launch_refusal(const LaunchRules& rules, const Dim3& grid, const Dim3& block,
                                          const Dim3& cluster);

std::uint64_t volume(const Dim3& size);
std::string words(const Dim3& size);  // "4x1x1"

}  // namespace wm
