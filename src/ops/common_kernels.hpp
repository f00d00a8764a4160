// The kernels that most calls need, for compiling them ahead.
#pragma once

#include <cstddef>
#include <filesystem>
#include <vector>

#include "ops/kernels.hpp"

namespace wm::ops {

// For sm_90a: attention in both types, the usual head dims, with and without a causal mask and the logarithms, with the
// plans that an H200 takes for lengths of 512 to 16,384. A product compiles in half the time, and has too many kinds.
std::vector<KernelSource> common_kernels();

// Compiles them into the folder, several at a time, those that are not there yet. Says how many it compiled.
std::size_t compile_common_kernels(const std::filesystem::path& folder);

}  // namespace wm::ops
