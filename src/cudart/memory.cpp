// The table of allocations.
#include "cudart/memory.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

#include "cudart/platform.hpp"
#include "cudart/stream.hpp"
#include "warpmill/error.hpp"

namespace wm::cudart {
namespace {

struct Table {
  std::mutex mutex;
  std::map<std::uint64_t, MemoryRange> ranges;  // by address
  std::map<const void*, std::unique_ptr<Pool>> pools;
  std::map<int, Pool*> defaults, current;
  std::map<int, std::size_t> used;
  std::uint64_t last_id = 0;

  void add(MemoryRange range) {
    const std::lock_guard lock(mutex);
    range.id = ++last_id;
    if (range.kind != MemoryKind::host && range.kind != MemoryKind::registered) used[range.device] += range.bytes;
    ranges[range.address] = range;
    if (auto* pool = static_cast<Pool*>(const_cast<void*>(range.pool))) {
      pool->used += range.bytes;
      pool->most_used = std::max(pool->most_used, pool->used);
      pool->reserved = std::max(pool->reserved, pool->used);
      pool->most_reserved = std::max(pool->most_reserved, pool->reserved);
    }
  }
  // Takes out the range that begins at an address and is of one of two kinds.
  MemoryRange take(std::uint64_t address, MemoryKind one, MemoryKind other) {
    const std::lock_guard lock(mutex);
    const auto found = ranges.find(address);
    if (found == ranges.end() || (found->second.kind != one && found->second.kind != other))
      fail(cudaErrorInvalidValue);
    const MemoryRange range = found->second;
    ranges.erase(found);
    if (range.kind != MemoryKind::host && range.kind != MemoryKind::registered) used[range.device] -= range.bytes;
    if (auto* pool = static_cast<Pool*>(const_cast<void*>(range.pool))) {
      pool->used -= range.bytes;
      if (pool->used == 0) pool->reserved = std::min<std::size_t>(pool->reserved, pool->release_threshold);
    }
    return range;
  }
};
Table& table() {
  static auto* const one = new Table;
  return *one;
}

std::size_t whole_pages(std::size_t bytes) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return (bytes + page - 1) / page * page;
}

std::byte* map_pages(std::size_t bytes) {
  void* const mapped =
      ::mmap(nullptr, whole_pages(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) fail(cudaErrorMemoryAllocation);
  return static_cast<std::byte*>(mapped);
}

// Memory that host and devices see under one address.
std::uint64_t allocate_shared_with_host(std::size_t bytes, MemoryKind kind, unsigned flags) {
  std::byte* const host = map_pages(bytes);
  Platform::get().machine.map_host({host, bytes});
  const auto address = reinterpret_cast<std::uint64_t>(host);
  table().add({.kind = kind, .address = address, .bytes = bytes, .device = current_device(), .flags = flags});
  return address;
}

void release(const MemoryRange& range) {
  Platform::get().machine.free(range.address);
  if (range.kind == MemoryKind::managed || range.kind == MemoryKind::host)
    ::munmap(reinterpret_cast<void*>(range.address), whole_pages(range.bytes));
}

}  // namespace

Pitched pitched(std::size_t width, std::size_t height, std::size_t depth) {
  constexpr std::size_t unit = 512;
  Pitched rows;
  const bool fits = !__builtin_add_overflow(width, unit - 1, &rows.pitch) &&
                    !__builtin_mul_overflow(rows.pitch = rows.pitch / unit * unit, height, &rows.bytes) &&
                    !__builtin_mul_overflow(rows.bytes, depth, &rows.bytes);
  require(fits, cudaErrorMemoryAllocation);
  return rows;
}

std::uint64_t allocate_device(std::size_t bytes, const void* pool) {
  Platform& platform = Platform::get();
  if (bytes > platform.chip().memory_bytes - std::min(used_bytes(current_device()), platform.chip().memory_bytes))
    fail(cudaErrorMemoryAllocation);
  if (const auto* held = static_cast<const Pool*>(pool); held != nullptr && held->most > 0)
    require(held->used + bytes <= held->most, cudaErrorMemoryAllocation);
  const std::uint64_t address = platform.machine.allocate(bytes);
  table().add(
      {.kind = MemoryKind::device, .address = address, .bytes = bytes, .device = current_device(), .pool = pool});
  return address;
}

std::uint64_t allocate_managed(std::size_t bytes) { return allocate_shared_with_host(bytes, MemoryKind::managed, 0); }

void* allocate_host(std::size_t bytes, unsigned flags) {
  return reinterpret_cast<void*>(allocate_shared_with_host(bytes, MemoryKind::host, flags));
}

void register_host(void* pointer, std::size_t bytes, unsigned flags) {
  require(pointer != nullptr && bytes > 0);
  const auto address = reinterpret_cast<std::uint64_t>(pointer);
  try {
    Platform::get().machine.map_host({static_cast<std::byte*>(pointer), bytes});
  } catch (const Error& error) {
    if (range_of(address) || range_of(address + bytes - 1)) fail(cudaErrorHostMemoryAlreadyRegistered);
    fail(cudaErrorInvalidValue, error.what());
  }
  table().add(
      {.kind = MemoryKind::registered, .address = address, .bytes = bytes, .device = current_device(), .flags = flags});
}

void unregister_host(void* pointer) {
  const auto address = reinterpret_cast<std::uint64_t>(pointer);
  const auto range = range_of(address);
  if (!range || range->kind != MemoryKind::registered || range->address != address)
    fail(cudaErrorHostMemoryNotRegistered);
  wait_for_users(address);
  release(table().take(address, MemoryKind::registered, MemoryKind::registered));
}

void wait_for_users(std::uint64_t address) {
  const auto range = range_of(address);
  if (range && range->kind != MemoryKind::device) return Streams::get().wait_for_all_devices();
  Streams::get().wait_for_device(range ? range->device : current_device());
}

void give_up_device(std::uint64_t address) { table().take(address, MemoryKind::device, MemoryKind::device); }
void release_device(std::uint64_t address) { Platform::get().machine.free(address); }

void free_device(std::uint64_t address) {
  const MemoryRange range = table().take(address, MemoryKind::device, MemoryKind::managed);
  if (range.pool != nullptr) known_pool(range.pool).freed_beside += range.bytes;
  release(range);
}

void free_host(void* pointer) {
  release(table().take(reinterpret_cast<std::uint64_t>(pointer), MemoryKind::host, MemoryKind::host));
}

std::optional<MemoryRange> range_of(std::uint64_t address) {
  const std::lock_guard lock(table().mutex);
  const auto after = table().ranges.upper_bound(address);
  if (after == table().ranges.begin()) return std::nullopt;
  const MemoryRange& range = std::prev(after)->second;
  return address - range.address < range.bytes ? std::optional(range) : std::nullopt;
}

void change_hints(std::uint64_t address, std::size_t bytes, const std::function<void(MemoryRange&)>& change) {
  const std::lock_guard lock(table().mutex);
  const auto after = table().ranges.upper_bound(address);
  require(after != table().ranges.begin());
  MemoryRange& range = std::prev(after)->second;
  require(range.kind == MemoryKind::managed && bytes > 0 && range.holds(address, bytes));
  change(range);
}

std::size_t used_bytes(int device) {
  const std::lock_guard lock(table().mutex);
  return table().used[device];
}

void free_everything(int device) {
  std::vector<MemoryRange> all;
  {
    const std::lock_guard lock(table().mutex);
    for (const auto& [address, range] : table().ranges)
      if (range.device == device && range.kind != MemoryKind::registered) all.push_back(range);
  }
  for (const MemoryRange& range : all) release(table().take(range.address, range.kind, range.kind));
}

Pool* create_pool(int device, std::size_t most) {
  auto pool = std::make_unique<Pool>(Pool{.device = device, .most = most});
  const std::lock_guard lock(table().mutex);
  Pool* const handle = pool.get();
  table().pools.emplace(handle, std::move(pool));
  return handle;
}

Pool* default_pool(int device) {
  {
    const std::lock_guard lock(table().mutex);
    if (Pool* const known = table().defaults[device]) return known;
  }
  Pool* const pool = create_pool(device);
  const std::lock_guard lock(table().mutex);
  pool->is_default = true;
  return table().defaults[device] = pool;
}

Pool* current_pool(int device) {
  {
    const std::lock_guard lock(table().mutex);
    if (Pool* const chosen = table().current[device]) return chosen;
  }
  return default_pool(device);
}

void set_current_pool(int device, Pool* pool) {
  const std::lock_guard lock(table().mutex);
  table().current[device] = pool;
}

void destroy_pool(Pool* pool) {
  require(!known_pool(pool).is_default);
  const std::lock_guard lock(table().mutex);
  for (auto& [device, current] : table().current)
    if (current == pool) current = nullptr;
  for (auto& [address, range] : table().ranges)
    if (range.pool == pool) range.pool = nullptr;
  table().pools.erase(pool);
}

Pool& known_pool(const void* handle) {
  const std::lock_guard lock(table().mutex);
  const auto found = table().pools.find(handle);
  if (found == table().pools.end()) fail(cudaErrorInvalidValue);
  return *found->second;
}

}  // namespace wm::cudart
