// The chips that are imitated.
#pragma once

#include <cstddef>

#include "warpmill/architecture.hpp"

namespace wm::vgpu {

struct Chip {
  Architecture arch;
  int multiprocessors = 132;
  std::size_t memory_bytes = 0;
  std::size_t shared_bytes_per_block = 0, shared_bytes_per_multiprocessor = 0;
  int registers_per_multiprocessor = 65536, threads_per_multiprocessor = 2048, blocks_per_multiprocessor = 32;
  bool tensor_memory = false;  // and tcgen05
  // An A100 for sm_80, an H200 for sm_90a, a B200 for sm_100a, an RTX 5090 for sm_120a; throws unsupported for others.
  static Chip of(const Architecture& arch);
};

}  // namespace wm::vgpu
