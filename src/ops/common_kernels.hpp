// The kernels that calls need and that take long to compile, for compiling them ahead.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <vector>

#include "ops/kernels.hpp"
#include "warpmill/attention/plan.h"

namespace wm::ops {

// For sm_90a: attention in both types, with head dims of 64, 128, 192/128 and 256, every mask, with and without softcap
// (a low one) and sequences, by each plan that the ranking may take, unless it compiles quickly. A product does, and
// has too many kinds. Those that most calls need come first.
std::vector<KernelSource> common_kernels();

// In well under 0.8 s, so that it may wait for its first use.
bool compiles_quickly(const AttentionPlan& plan);

// Compiles them into the folder, several at a time, those that are not there yet; one that loses speed is an error.
// Says how many it compiled. What `tell` throws ends it; what was compiled until then stays.
std::size_t compile_common_kernels(const std::filesystem::path& folder,
                                   const std::function<void(std::size_t done, std::size_t total)>& tell);

}  // namespace wm::ops
