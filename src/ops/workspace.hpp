// Memory that kernels of one stream use between them: each stream has its own, so two streams never share it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "warpmill/device.hpp"

namespace wm::ops {

struct Workspace {
  std::uint64_t memory;  // at least so many bytes, aligned to 256
  std::uint64_t flags;   // words that are 0 whenever no kernel of the stream runs: whoever sets one clears it
};

// Made and grown when needed, kept until the process ends: a captured graph may hold it.
Workspace workspace_of(const Stream& stream, std::size_t bytes, std::size_t flag_bytes);

}  // namespace wm::ops
