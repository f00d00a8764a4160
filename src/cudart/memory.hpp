// The program's memory: who allocated what, where, and what may be done with it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

namespace wm::cudart {

enum class MemoryKind { device, managed, host, registered };

// A range of memory that the runtime knows.
struct MemoryRange {
  MemoryKind kind = MemoryKind::device;
  std::uint64_t address = 0;
  std::size_t bytes = 0;
  int device = 0;
  unsigned flags = 0;
  std::uint64_t id = 0;  // no other range has or had it
  const void* pool = nullptr;
  // Hints about managed memory.
  int read_mostly = 0, preferred = no_device, prefetched_to = no_device;
  static constexpr int no_device = -2;  // cudaInvalidDeviceId

  bool holds(std::uint64_t first, std::size_t count) const {
    return first - address <= bytes && count <= bytes - (first - address);
  }
};

// Bytes from row to row, and of all rows. Fails with cudaErrorMemoryAllocation where no number holds them.
struct Pitched {
  std::size_t pitch = 0, bytes = 0;
};
Pitched pitched(std::size_t width, std::size_t height, std::size_t depth = 1);

std::uint64_t allocate_device(std::size_t bytes, const void* pool = nullptr);  // on the thread's device
std::uint64_t allocate_managed(std::size_t bytes);
void* allocate_host(std::size_t bytes, unsigned flags);
void register_host(void* pointer, std::size_t bytes, unsigned flags);
void unregister_host(void* pointer);  // waits for its users

// Before it is freed: for its device, and for all where it is memory of the host too.
void wait_for_users(std::uint64_t address);
// Fail with cudaErrorInvalidValue for what was not allocated so, or was freed.
void free_device(std::uint64_t address);  // device and managed memory
// In two steps: from the first on it is no longer the program's.
void give_up_device(std::uint64_t address);
void release_device(std::uint64_t address);
void free_host(void* pointer);

// The range that holds an address; nothing for what the runtime never gave out.
std::optional<MemoryRange> range_of(std::uint64_t address);

// The hints of a managed range that holds all these bytes; fails with cudaErrorInvalidValue.
void change_hints(std::uint64_t address, std::size_t bytes, const std::function<void(MemoryRange&)>& change);

std::size_t used_bytes(int device);
void free_everything(int device);  // cudaDeviceReset

// Pools only count.
struct Pool {
  int device = 0;
  bool is_default = false;
  std::size_t most = 0;  // bytes it may hold; 0: any number
  std::uint64_t release_threshold = 0;
  std::size_t used = 0, most_used = 0, reserved = 0, most_reserved = 0;
  std::size_t freed_beside = 0;  // by cudaFree, of which an H200's pool takes no note: it counts them as used
  int reuse_event = 1, reuse_opportunistic = 1, reuse_internal = 1;
};
Pool* default_pool(int device);
Pool* current_pool(int device);
void set_current_pool(int device, Pool* pool);
Pool* create_pool(int device, std::size_t most = 0);
void destroy_pool(Pool* pool);
Pool& known_pool(const void* handle);  // fails with cudaErrorInvalidValue

}  // namespace wm::cudart
