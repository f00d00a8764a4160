// Pieces of host memory, mapped or from the C++ heap.
#include "vgpu/memory/host_bytes.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>

#include <sys/mman.h>

namespace wm::vgpu {

namespace {
constexpr u64 least_mapped = 64 * 1024;
constexpr std::align_val_t alignment{64};
}  // namespace

std::byte* take_host_bytes(u64 bytes) {
  if (bytes >= least_mapped) {
    void* piece = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return piece == MAP_FAILED ? nullptr : static_cast<std::byte*>(piece);
  }
  void* piece = ::operator new(bytes, alignment, std::nothrow);
  if (piece != nullptr) std::memset(piece, 0, bytes);
  return static_cast<std::byte*>(piece);
}

void give_host_bytes(std::byte* piece, u64 bytes) {
  if (bytes >= least_mapped)
    munmap(piece, bytes);
  else
    ::operator delete(piece, alignment);
}

u32 HostPool::size_class(u64 bytes) { return static_cast<u32>(std::bit_width(std::max<u64>(bytes, 16) - 1)); }

std::byte* HostPool::take(u64 bytes) {
  auto& spare = spare_[size_class(bytes)];
  std::byte* piece = nullptr;
  if (spare.empty()) {
    piece = take_host_bytes(u64{1} << size_class(bytes));
    if (piece == nullptr) return nullptr;
  } else {
    piece = spare.back();
    spare.pop_back();
  }
  std::memset(piece, 0xff, bytes);
  return piece;
}

void HostPool::give(std::byte* piece, u64 bytes) { spare_[size_class(bytes)].push_back(piece); }

void HostPool::clear() {
  for (u32 c = 0; c < spare_.size(); ++c) {
    for (std::byte* piece : spare_[c]) give_host_bytes(piece, u64{1} << c);
    spare_[c].clear();
  }
}

}  // namespace wm::vgpu
