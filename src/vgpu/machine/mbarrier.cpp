// The mbarrier object in shared memory: its bits, and what asynchronous work does to it.
#include "vgpu/machine/mbarrier.hpp"

#include <cstdlib>
#include <cstring>

#include <fmt/format.h>

#include "vgpu/machine/block.hpp"
#include "vgpu/machine/fault.hpp"
#include "vgpu/machine/observer.hpp"

namespace wm::vgpu {

namespace mbarrier {

namespace {
constexpr u64 mark = 2;  // of an initialised barrier, in the top two bits

u64 read(const Cluster& cluster, u64 address) {
  const Block* block = const_cast<Cluster&>(cluster).block_of(address);
  const u64 offset = address & shared_offset_mask;
  u64 word = 0;
  if (block != nullptr && offset + 8 <= block->shared.size()) std::memcpy(&word, block->shared.data() + offset, 8);
  return word;
}

std::string name(u64 address) { return fmt::format("the mbarrier at {:#x}", address); }

[[noreturn]] void fail(const std::string& what, Flaw finding = fault::other) { throw Fault(what, finding); }

Fields writable(Cluster& cluster, u64 address, std::byte*& place) {
  Block* block = cluster.block_of(address);
  const u64 offset = address & shared_offset_mask;
  if (block == nullptr || offset < shared_reserved || offset + 8 > block->shared.size())
    fail(fmt::format("an asynchronous operation signals {}, which lies outside shared memory", name(address)));
  place = block->shared.data() + offset;
  u64 word;
  std::memcpy(&word, place, 8);
  const Fields f = unpack(word);
  if (!f.valid)
    fail(fmt::format("an asynchronous operation signals {}, which is not initialised", name(address)),
         fault::barrier_not_initialised);
  return f;
}

void put(Cluster& cluster, std::byte* place, const Fields& f) {
  const u64 word = pack(f);
  std::memcpy(place, &word, 8);
  ++cluster.events;
  ++cluster.advances;
}
}  // namespace

u64 pack(const Fields& f) {
  return u64{f.phase & 1} | u64{f.pending} << 1 | u64{f.expected} << 21 |
         (static_cast<u64>(static_cast<i64>(f.bytes)) & 0x1fffff) << 41 | (f.valid ? mark << 62 : 0);
}

Fields unpack(u64 word) {
  Fields f;
  f.phase = word & 1;
  f.pending = word >> 1 & 0xfffff;
  f.expected = word >> 21 & 0xfffff;
  f.bytes = static_cast<i32>(static_cast<u32>(word >> 41 & 0x1fffff) << 11) >> 11;
  f.valid = word >> 62 == mark;
  return f;
}

void turn(Fields& f) {
  if (f.pending != 0 || f.bytes != 0) return;
  f.phase ^= 1;
  f.pending = f.expected;
}

bool phase_done(Cluster& cluster, u64 address, u32 parity) { return unpack(read(cluster, address)).phase != parity; }

void complete_bytes(Cluster& cluster, u64 address, u32 bytes, u64 copy) {
  if (Observer* observer = cluster.run->observer) observer->bytes_arrive(cluster, address, bytes, copy);
  std::byte* place = nullptr;
  Fields f = writable(cluster, address, place);
  if (f.bytes - static_cast<i64>(bytes) < -most_bytes)
    fail(fmt::format("{}: {} bytes more arrived than it can count", name(address), bytes));
  f.bytes -= static_cast<i32>(bytes);
  turn(f);
  put(cluster, place, f);
}

void arrive_async(Cluster& cluster, u64 address, u32 count, u64 arrival) {
  if (Observer* observer = cluster.run->observer) observer->arrival_arrives(cluster, address, arrival);
  std::byte* place = nullptr;
  Fields f = writable(cluster, address, place);
  if (count > f.pending)
    fail(fmt::format("{}: {} arrivals where {} are pending", name(address), count, f.pending), fault::barrier_overrun);
  f.pending -= count;
  turn(f);
  put(cluster, place, f);
}

std::string describe_wait(const Cluster& cluster, u64 address, u32 parity) {
  const Fields f = unpack(read(cluster, address));
  if (!f.valid) return fmt::format("waits for {}, parity {}: it is not initialised", name(address), parity);
  std::string text =
      fmt::format("waits for {}, parity {}: {} of {} arrivals pending", name(address), parity, f.pending, f.expected);
  if (f.bytes != 0) text += fmt::format(", {} bytes {}", std::abs(f.bytes), f.bytes > 0 ? "to come" : "too many");
  return text;
}

}  // namespace mbarrier

}  // namespace wm::vgpu
