// Device memory: the table of allocations.
#include "vgpu/memory/global.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <sys/mman.h>

#include "vgpu/memory/spaces.hpp"
#include "warpmill/error.hpp"

namespace wm::vgpu {

namespace {
constexpr u64 granule = 512;              // alignment of an allocation, and the least gap after it
constexpr std::size_t remembered = 4096;  // freed allocations that messages still know

std::string describe(const Allocation& a) {
  const std::string what = a.name.empty() ? "an allocation" : fmt::format("`{}`", a.name);
  return fmt::format("{} of {} bytes at {:#x}", what, a.bytes, a.address);
}
}  // namespace

Memory::~Memory() {
  for (const auto& a : live_) release(a);
  for (const auto& a : dying_) release(a);
}

void Memory::release(const Allocation& a) { munmap(a.host, a.bytes); }

u64 Memory::allocate(u64 bytes, std::string name, bool read_only) {
  if (bytes == 0) return 0;
  std::unique_lock lock(mutex_);
  if (bytes > capacity_ - used_)
    throw Error(ErrorCode::out_of_memory,
                fmt::format("{} bytes were asked of the virtual GPU; {} of its {} bytes are free", bytes,
                            capacity_ - used_, capacity_));
  if (next_ == 0) next_ = global_begin;
  const u64 span = (bytes + 2 * granule - 1) / granule * granule;
  if (span > global_end - next_) throw Error(ErrorCode::out_of_memory, "the virtual GPU's addresses are used up");
  void* host = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (host == MAP_FAILED)
    throw Error(ErrorCode::out_of_memory,
                fmt::format("this machine has no {} bytes for memory of the virtual GPU", bytes));
  const u64 address = next_;
  next_ += span;
  used_ += bytes;
  const bool unwritten = name.empty();
  live_.push_back({{address, bytes, static_cast<std::byte*>(host), read_only}, std::move(name), unwritten});
  return address;
}

u64 Memory::allocate_heap(u64 bytes) {
  const u64 address = allocate(bytes);
  std::unique_lock lock(mutex_);
  const_cast<Allocation*>(locate(address))->of_heap = true;
  return address;
}

void Memory::free(u64 address) noexcept {
  std::unique_lock lock(mutex_);
  auto* found = const_cast<Allocation*>(locate(address));
  if (found == nullptr || found->address != address) return;
  used_ -= found->bytes;
  if (uses_ > 0)
    dying_.push_back(*found);
  else
    release(*found);
  if (freed_.size() >= remembered) freed_.erase(freed_.begin(), freed_.begin() + remembered / 2);
  found->host = nullptr;
  freed_.insert(
      std::upper_bound(freed_.begin(), freed_.end(), address, [](u64 a, const Allocation& f) { return a < f.address; }),
      *found);
  live_.erase(live_.begin() + (found - live_.data()));
}

const Allocation* Memory::locate(u64 address) const {
  auto after = std::upper_bound(live_.begin(), live_.end(), address,
                                [](u64 a, const Allocation& allocation) { return a < allocation.address; });
  return after == live_.begin() ? nullptr : &*std::prev(after);
}

Region Memory::find(u64 address) const {
  std::shared_lock lock(mutex_);
  const Allocation* a = locate(address);
  return a != nullptr && a->holds(address, 1) ? static_cast<const Region&>(*a) : Region{};
}

std::byte* Memory::at(u64 address, u64 bytes, const char* what) const {
  const Region a = find(address);
  if (!a.holds(address, bytes))
    throw Error(ErrorCode::invalid_argument, fmt::format("{}: {}", what, explain(address, bytes)));
  return a.host + (address - a.address);
}

std::string Memory::explain(u64 address, u64 bytes) const {
  std::shared_lock lock(mutex_);
  const std::string range = fmt::format("{} byte{} at {:#x}", bytes, bytes == 1 ? "" : "s", address);
  if (address == 0) return range + " is the null pointer";
  const auto freed =
      std::upper_bound(freed_.begin(), freed_.end(), address, [](u64 a, const Allocation& f) { return a < f.address; });
  if (freed != freed_.begin() && address - std::prev(freed)->address < std::prev(freed)->bytes)
    return fmt::format("{} lie in {} that has been freed", range, describe(*std::prev(freed)));
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
  const auto above = std::upper_bound(live_.begin(), live_.end(), address,
                                      [](u64 a, const Allocation& allocation) { return a < allocation.address; });
  if (above != live_.end() && above->address - address <= above->bytes + 65536)
    return fmt::format("{} are {} bytes before {}", range, above->address - address, describe(*above));
  return fmt::format("{} lie in no allocation ({} are live)", range, live_.size());
}

Memory::Named Memory::named(u64 address) const {
  std::shared_lock lock(mutex_);
  const Allocation* a = locate(address);
  return a != nullptr && a->holds(address, 1) ? Named{a->name, address - a->address} : Named{};
}

void Memory::name(u64 address, std::string name) {
  std::unique_lock lock(mutex_);
  if (const Allocation* a = locate(address)) const_cast<Allocation*>(a)->name = std::move(name);
}

bool Memory::was_freed(u64 address) const {
  std::shared_lock lock(mutex_);
  const auto freed =
      std::upper_bound(freed_.begin(), freed_.end(), address, [](u64 a, const Allocation& f) { return a < f.address; });
  return freed != freed_.begin() && address - std::prev(freed)->address < std::prev(freed)->bytes;
}

std::vector<Region> Memory::unwritten() const {
  std::shared_lock lock(mutex_);
  std::vector<Region> regions;
  for (const Allocation& a : live_)
    if (a.unwritten) regions.push_back(a);
  return regions;
}

void Memory::forget(u64 address) {
  std::unique_lock lock(mutex_);
  if (const Allocation* a = locate(address)) const_cast<Allocation*>(a)->unwritten = true;
}

void Memory::note_written(u64 address) {
  std::unique_lock lock(mutex_);
  if (const Allocation* a = locate(address)) const_cast<Allocation*>(a)->unwritten = false;
}

void Memory::note_all_written() {
  std::unique_lock lock(mutex_);
  for (Allocation& a : live_) a.unwritten = false;
}

Memory::Use::Use(Memory& memory) : memory_(memory) {
  std::unique_lock lock(memory_.mutex_);
  ++memory_.uses_;
}

Memory::Use::~Use() {
  std::unique_lock lock(memory_.mutex_);
  if (--memory_.uses_ > 0) return;
  for (const auto& a : memory_.dying_) release(a);
  memory_.dying_.clear();
}

}  // namespace wm::vgpu
