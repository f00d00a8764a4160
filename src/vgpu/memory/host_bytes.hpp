// Host memory behind the virtual GPU's: where the bytes of an allocation lie.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "vgpu/memory/integers.hpp"

namespace wm::vgpu {

// Zeros, aligned to 64. Large pieces are mapped, so that the host has them only where they are touched; small ones
// share pages. Null where the host has no more.
std::byte* take_host_bytes(u64 bytes);
void give_host_bytes(std::byte* piece, u64 bytes);

// Pieces that are taken and given back all the time, in sizes of powers of two. What was given back is handed out
// again, and returns to the host only in clear(): whoever still holds on to a piece finds memory there.
class HostPool {
 public:
  HostPool() = default;
  HostPool(const HostPool&) = delete;
  HostPool& operator=(const HostPool&) = delete;
  ~HostPool() { clear(); }

  // Filled with ones: NaN in every floating type, and no zeros to rely on.
  std::byte* take(u64 bytes);
  void give(std::byte* piece, u64 bytes);
  void clear();

 private:
  static u32 size_class(u64 bytes);  // pieces of 2^class bytes
  std::array<std::vector<std::byte*>, 64> spare_;
};

}  // namespace wm::vgpu
