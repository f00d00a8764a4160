// Device memory: the table of allocations.
#include "vgpu/memory/global.hpp"

#include <cstdint>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "vgpu/memory/spaces.hpp"
#include "warpmill/error.hpp"

namespace wm::vgpu {

namespace {
constexpr u64 granule = 512;                 // alignment of an allocation, and the least gap after it
constexpr u64 heap_granule = 1024;           // the same of a kernel's malloc
constexpr u64 heap_capacity = u64{8} << 20;  // the chip's default
constexpr std::size_t remembered = 4096;     // freed allocations that messages still know

u64 round_up(u64 value, u64 multiple) { return (value + multiple - 1) / multiple * multiple; }

// Where an address of the host would mean something else to a kernel.
constexpr std::pair<u64, u64> windows[] = {{tensor_window, window_bytes},
                                           {function_window, window_bytes},
                                           {param_window, 2 * most_parameter_bytes},
                                           {local_window, window_bytes},
                                           {shared_window, window_bytes}};

// From the beginning of a kernel's allocation to that of the next.
u64 heap_span(u64 bytes) { return round_up(bytes + granule, heap_granule); }

// What an allocation takes of the heap.
u64 heap_share(u64 bytes) { return round_up(bytes, 16); }

std::string describe(const Allocation& a) {
  const std::string what = a.name.empty() ? "an allocation" : fmt::format("`{}`", a.name);
  return fmt::format("{} of {} bytes at {:#x}", what, a.bytes, a.address);
}

// The last of a table at or below `address`; null where there is none.
const Allocation* last_up_to(const std::map<u64, Allocation>& table, u64 address) {
  const auto after = table.upper_bound(address);
  return after == table.begin() ? nullptr : &std::prev(after)->second;
}
}  // namespace

Memory::~Memory() {
  for (const auto& [address, a] : live_)
    if (a.of_host)
      continue;
    else if (is_heap(address))
      heap_.give(a.host, a.bytes);
    else
      give_host_bytes(a.host, a.bytes);
  for (const Region& r : dying_) give_host_bytes(r.host, r.bytes);
}

u64 Memory::allocate(u64 bytes, std::string name, bool read_only) {
  if (bytes == 0) return 0;
  std::unique_lock lock(mutex_);
  if (bytes > capacity_ - used_)
    throw Error(ErrorCode::out_of_memory,
                fmt::format("{} bytes were asked of the virtual GPU; {} of its {} bytes are free", bytes,
                            capacity_ - used_, capacity_));
  const u64 span = round_up(bytes + granule, granule);
  const u64 address = clear_of_the_host(next_ == 0 ? global_begin : next_, span);
  if (address > heap_begin || span > heap_begin - address)
    throw Error(ErrorCode::out_of_memory, "the virtual GPU's addresses are used up");
  std::byte* host = take_host_bytes(bytes);
  if (host == nullptr)
    throw Error(ErrorCode::out_of_memory,
                fmt::format("this machine has no {} bytes for memory of the virtual GPU", bytes));
  next_ = address + span;
  used_ += bytes;
  const bool unwritten = name.empty();
  live_.emplace_hint(live_.end(), address, Allocation{{address, bytes, host, read_only}, std::move(name), unwritten});
  return address;
}

void Memory::map(Region region) {
  const u64 address = reinterpret_cast<std::uintptr_t>(region.host), bytes = region.bytes;
  if (bytes == 0) throw Error(ErrorCode::invalid_argument, "there is no memory of no bytes to map");
  if (bytes > ~address)
    throw Error(ErrorCode::invalid_argument, fmt::format("no memory at {:#x} has {} bytes", address, bytes));
  for (const auto& [window, size] : windows)
    if (address < window + size && window < address + bytes)
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("{} bytes of the host at {:#x} lie where the virtual GPU has no global memory ({:#x} to "
                              "{:#x}); give it a copy of them",
                              bytes, address, window, window + size - 1));
  std::unique_lock lock(mutex_);
  const auto above = live_.lower_bound(address);
  const Allocation* below = locate(address);
  if ((above != live_.end() && above->first - address < bytes) || (below != nullptr && below->holds(address, 1)))
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{} bytes of the host at {:#x} are mapped already, or part of them", bytes, address));
  region.address = address;
  region.of_host = true;
  live_.emplace(address, Allocation{region, "host memory", false});
}

u64 Memory::clear_of_the_host(u64 address, u64 bytes) const {
  const Allocation* below = locate(address);
  if (below != nullptr && below->of_host && below->holds(address, 1))
    address = round_up(below->address + below->bytes, heap_granule);
  for (auto next = live_.lower_bound(address); next != live_.end() && next->first - address < bytes;
       next = live_.lower_bound(address))
    address = round_up(next->first + next->second.bytes, heap_granule);
  return address;
}

void Memory::unmap_host(const std::byte* host) {
  const u64 address = reinterpret_cast<std::uintptr_t>(host);
  std::unique_lock lock(mutex_);
  const auto mapped = [&] {
    const auto found = live_.find(address);
    if (found == live_.end() || !found->second.of_host)
      throw Error(ErrorCode::invalid_argument, fmt::format("no mapped memory of the host begins at {:#x}", address));
    return found;
  };
  // What the program has besides is its own to keep until no kernel uses it, as on the chip.
  if (mapped()->second.lent) no_longer_used_.wait(lock, [&] { return uses_ == 0; });
  live_.erase(mapped());
}

void Memory::free(u64 address) noexcept {
  std::unique_lock lock(mutex_);
  const auto found = live_.find(address);
  if (found == live_.end()) return;
  if (found->second.of_host) {
    live_.erase(found);
    return;
  }
  if (is_heap(address)) return;
  Allocation a = std::move(found->second);
  live_.erase(found);
  used_ -= a.bytes;
  if (uses_ > 0)
    dying_.push_back(a);
  else
    give_host_bytes(a.host, a.bytes);
  remember(std::move(a));
}

u64 Memory::allocate_heap(u64 bytes) {
  std::unique_lock lock(mutex_);
  if (bytes == 0 || bytes > heap_capacity || heap_share(bytes) > heap_capacity - heap_used_) return 0;
  const u64 span = heap_span(bytes);
  const u64 address = clear_of_the_host(next_of_heap_ == 0 ? heap_begin : next_of_heap_, span);
  if (address > global_end || span > global_end - address) return 0;
  std::byte* host = heap_.take(bytes);
  if (host == nullptr) return 0;
  next_of_heap_ = address + span;
  heap_used_ += heap_share(bytes);
  live_.emplace(address, Allocation{{address, bytes, host}, {}, true});
  return address;
}

u64 Memory::free_heap(u64 address) {
  std::unique_lock lock(mutex_);
  const auto found = live_.find(address);
  if (found == live_.end() || found->second.of_host || !is_heap(address)) return 0;
  Allocation a = std::move(found->second);
  live_.erase(found);
  heap_used_ -= heap_share(a.bytes);
  heap_.give(a.host, a.bytes);
  const u64 bytes = a.bytes;
  remember(std::move(a));
  return bytes;
}

void Memory::remember(Allocation freed) {
  freed.host = nullptr;
  const u64 address = freed.address;
  if (freed_order_.size() >= remembered) {
    freed_.erase(freed_order_.front());
    freed_order_.pop_front();
  }
  freed_order_.push_back(address);
  freed_.emplace(address, std::move(freed));
}

const Allocation* Memory::locate(u64 address) const { return last_up_to(live_, address); }

const Allocation* Memory::locate_freed(u64 address) const {
  const Allocation* a = last_up_to(freed_, address);
  return a != nullptr && a->holds(address, 1) ? a : nullptr;
}

bool Memory::was_of_heap(u64 address) const {
  if (address < heap_begin || address >= next_of_heap_) return false;
  const Allocation* below = locate(address);
  return below == nullptr || !is_heap(below->address) || address - below->address >= heap_span(below->bytes);
}

Region Memory::find(u64 address) const {
  std::shared_lock lock(mutex_);
  const Allocation* a = locate(address);
  return a != nullptr && a->holds(address, 1) ? static_cast<const Region&>(*a) : Region{};
}

std::vector<Region> Memory::overlapping(u64 address, u64 bytes) const {
  std::shared_lock lock(mutex_);
  std::vector<Region> found;
  const Allocation* below = locate(address);
  if (below != nullptr && below->holds(address, 1)) found.push_back(*below);
  for (auto next = live_.upper_bound(address); next != live_.end() && next->first - address < bytes; ++next)
    found.push_back(next->second);
  return found;
}

std::byte* Memory::at(u64 address, u64 bytes, const char* what) const {
  const Region a = find(address);
  if (!a.holds(address, bytes))
    throw Error(ErrorCode::invalid_argument, fmt::format("{}: {}", what, explain(address, bytes)));
  return a.host + (address - a.address);
}

std::byte* Memory::to_write(u64 address, u64 bytes, const char* what) const {
  std::byte* const place = at(address, bytes, what);
  if (const Region a = find(address); a.only_lent_to_read())
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{}: {} cannot be written: {}", what, a.what_cannot_be_written(), explain(address, bytes)));
  return place;
}

std::string Memory::explain(u64 address, u64 bytes) const {
  std::shared_lock lock(mutex_);
  const std::string range = fmt::format("{} byte{} at {:#x}", bytes, bytes == 1 ? "" : "s", address);
  if (address == 0) return range + " is the null pointer";
  if (const Allocation* freed = locate_freed(address))
    return fmt::format("{} lie in {} that has been freed", range, describe(*freed));
  if (was_of_heap(address)) return range + " lie in memory that the kernel has freed";
  if (const Allocation* below = locate(address)) {
    const u64 offset = address - below->address;
    if (offset < below->bytes && bytes <= below->bytes - offset)
      return fmt::format("{} lie at offset {} of {}", range, offset, describe(*below));
    if (offset < below->bytes)
      return fmt::format("{} begin at offset {} and reach {} bytes past the end of {}", range, offset,
                         offset + bytes - below->bytes, describe(*below));
    if (offset - below->bytes < below->bytes + 65536)
      return fmt::format("{} are {} bytes past the end of {}", range, offset - below->bytes, describe(*below));
  }
  const auto above = live_.upper_bound(address);
  if (above != live_.end() && above->first - address <= above->second.bytes + 65536)
    return fmt::format("{} are {} bytes before {}", range, above->first - address, describe(above->second));
  return fmt::format("{} lie in no allocation ({} are live)", range, live_.size());
}

Memory::Named Memory::named(u64 address) const {
  std::shared_lock lock(mutex_);
  const Allocation* a = locate(address);
  return a != nullptr && a->holds(address, 1) ? Named{a->name, address - a->address} : Named{};
}

void Memory::name(u64 address, std::string name) {
  std::unique_lock lock(mutex_);
  if (Allocation* a = locate(address)) a->name = std::move(name);
}

bool Memory::was_freed(u64 address) const {
  std::shared_lock lock(mutex_);
  return locate_freed(address) != nullptr || was_of_heap(address);
}

std::vector<Region> Memory::writable() const {
  std::shared_lock lock(mutex_);
  std::vector<Region> regions;
  for (const auto& [address, a] : live_)
    if (!a.read_only) regions.push_back(a);
  return regions;
}

std::vector<Region> Memory::unwritten() const {
  std::shared_lock lock(mutex_);
  std::vector<Region> regions;
  for (const auto& [address, a] : live_)
    if (a.unwritten) regions.push_back(a);
  return regions;
}

void Memory::forget(u64 address) {
  std::unique_lock lock(mutex_);
  if (Allocation* a = locate(address); a != nullptr && !a->only_lent_to_read()) a->unwritten = true;
}

void Memory::note_written(u64 address) {
  std::unique_lock lock(mutex_);
  if (Allocation* a = locate(address); a != nullptr && a->holds(address, 1)) a->unwritten = false;
}

void Memory::note_all_written() {
  std::unique_lock lock(mutex_);
  for (auto& [address, a] : live_) a.unwritten = false;
}

Memory::Use::Use(Memory& memory) : memory_(memory) {
  std::unique_lock lock(memory_.mutex_);
  memory_.no_longer_alone_.wait(lock, [&] { return !memory_.alone_; });
  ++memory_.uses_;
}

Memory::Use::~Use() {
  std::unique_lock lock(memory_.mutex_);
  if (--memory_.uses_ > 0) return;
  for (const Region& r : memory_.dying_) give_host_bytes(r.host, r.bytes);
  memory_.dying_.clear();
  memory_.heap_.clear();
  memory_.no_longer_used_.notify_all();
}

Memory::Alone::Alone(Memory& memory) : memory_(memory) {
  std::unique_lock lock(memory_.mutex_);
  granted_ = memory_.alone_ = memory_.uses_ == 1;
}

Memory::Alone::~Alone() {
  if (!granted_) return;
  {
    std::unique_lock lock(memory_.mutex_);
    memory_.alone_ = false;
  }
  memory_.no_longer_alone_.notify_all();
}

}  // namespace wm::vgpu
