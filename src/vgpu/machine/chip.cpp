// What the imitated chips have.
#include "vgpu/machine/chip.hpp"

#include <fmt/format.h>

#include "vgpu/memory/integers.hpp"
#include "warpmill/error.hpp"

namespace wm::vgpu {

Chip Chip::of(const Architecture& arch) {
  Chip chip;
  chip.arch = arch;
  if (arch.number() == 80) {  // A100
    chip.multiprocessors = 108;
    chip.memory_bytes = u64{80} << 30;
    chip.shared_bytes_per_block = 163 * 1024;
    chip.shared_bytes_per_multiprocessor = 164 * 1024;
  } else if (arch.number() == 90) {  // H200
    chip.multiprocessors = 132;
    chip.memory_bytes = u64{141} << 30;
    chip.shared_bytes_per_block = 227 * 1024;
    chip.shared_bytes_per_multiprocessor = 228 * 1024;
  } else if (arch.number() == 100) {  // B200
    chip.multiprocessors = 148;
    chip.tensor_memory = true;
    chip.memory_bytes = u64{180} << 30;
    chip.shared_bytes_per_block = 227 * 1024;
    chip.shared_bytes_per_multiprocessor = 228 * 1024;
  } else if (arch.number() == 120) {  // RTX 5090
    chip.multiprocessors = 170;
    chip.memory_bytes = u64{32} << 30;
    chip.shared_bytes_per_block = 99 * 1024;
    chip.shared_bytes_per_multiprocessor = 100 * 1024;
    chip.threads_per_multiprocessor = 1536;
    chip.blocks_per_multiprocessor = 24;
  } else {
    throw Error(ErrorCode::unsupported,
                fmt::format("there is no virtual {}: sm_80, sm_90a, sm_100a and sm_120a are imitated", arch.name()));
  }
  return chip;
}

}  // namespace wm::vgpu
