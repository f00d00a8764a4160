// From the addresses of a warp's lanes to host bytes.
#include "vgpu/machine/access.hpp"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "vgpu/memory/spaces.hpp"

namespace wm::vgpu {

namespace {

const char* name_of(AddressSpace space) {
  switch (space) {
    case AddressSpace::generic: return "generic";
    case AddressSpace::global: return "global";
    case AddressSpace::shared:
    case AddressSpace::shared_cluster: return "shared";
    case AddressSpace::local: return "local";
    case AddressSpace::constant: return "constant";
    case AddressSpace::param: return "parameter";
  }
  return "";
}

const char* name_of(AccessKind kind) {
  return kind == AccessKind::read ? "read" : kind == AccessKind::write ? "write" : "atomic operation";
}

[[noreturn]] void fail(const Warp& warp, AddressSpace space, AccessKind kind, const std::string& why, u32 lane,
                       Flaw finding = fault::out_of_bounds) {
  warp.fault(fmt::format("{} {}: {}", name_of(space), name_of(kind), why), lane, finding);
}

void check_alignment(const Warp& warp, AddressSpace space, AccessKind kind, u64 address, u32 alignment, u32 lane) {
  if (address % alignment != 0)
    fail(warp, space, kind, fmt::format("the address {:#x} is not a multiple of {}", address, alignment), lane,
         fault::misaligned);
}

std::byte* shared_bytes(const Warp& warp, AddressSpace space, u64 address, u64 bytes, AccessKind kind, u32 lane) {
  Block& own = warp.block();
  const u64 rank = address >> shared_rank_shift;
  const u64 offset = address & shared_offset_mask;
  if (space == AddressSpace::shared && rank != own.rank)
    fail(warp, space, kind,
         fmt::format("the address {:#x} is that of block {} of the cluster, this is block {}: use .shared::cluster",
                     address, rank, own.rank),
         lane);
  Block* block = warp.cluster().block_of(address);
  if (block == nullptr)
    fail(warp, space, kind,
         fmt::format("the address {:#x}: block {} is asked for in a cluster of {}", address, rank,
                     warp.cluster().blocks.size()),
         lane, fault::other);
  const bool reserved = offset >= shared_of_groups && offset + bytes <= shared_reserved;
  if (reserved ? !warp.launch().program.uses_reserved_shared
               : offset < shared_reserved || offset + bytes > block->shared.size())
    fail(warp, space, kind,
         fmt::format("{} byte{} at {:#x} {} outside the block's shared memory, which is {:#x} to {:#x} ({} bytes)",
                     bytes, bytes == 1 ? "" : "s", offset, bytes == 1 ? "lies" : "lie", shared_reserved,
                     block->shared.size(), block->shared.size() - shared_reserved),
         lane);
  if (block != &own && block->finished())
    fail(warp, space, kind, fmt::format("block {} of the cluster, whose shared memory this is, has exited", rank), lane,
         fault::peer_exited);
  return block->shared.data() + offset;
}

std::byte* local_bytes(Warp& warp, u64 address, u64 bytes, AccessKind kind, u32 lane) {
  if (address > warp.local_end() || bytes > warp.local_end() - address)
    fail(warp, AddressSpace::local, kind,
         fmt::format("{} bytes at {:#x} lie outside the thread's local memory of {} bytes", bytes, address,
                     warp.local_end()),
         lane);
  return warp.local(lane) + address;
}

std::byte* param_bytes(Warp& warp, u64 address, u64 bytes, AccessKind kind, u32 lane) {
  auto& parameters = warp.launch().parameters;
  const u64 offset = address - param_window;
  if (kind != AccessKind::read) fail(warp, AddressSpace::param, kind, "a kernel's parameters cannot be written", lane);
  if (offset > parameters.size() || bytes > parameters.size() - offset)
    fail(warp, AddressSpace::param, kind,
         fmt::format("{} bytes at offset {} lie outside the kernel's {} bytes of parameters", bytes, offset,
                     parameters.size()),
         lane);
  return parameters.data() + offset;
}

std::byte* global_bytes(Warp& warp, AddressSpace space, u64 address, u64 bytes, AccessKind kind, u32 lane) {
  if (!warp.recent.holds(address, bytes) || is_heap(address)) {
    warp.recent = warp.launch().memory.find(address);
    if (!warp.recent.holds(address, bytes))
      fail(warp, space, kind, warp.launch().memory.explain(address, bytes), lane,
           warp.launch().memory.was_freed(address) ? fault::use_after_free : fault::out_of_bounds);
  }
  if (kind != AccessKind::read && warp.recent.read_only)
    fail(warp, space, kind,
         fmt::format("{} cannot be written: {}", warp.recent.what_cannot_be_written(),
                     warp.launch().memory.explain(address, bytes)),
         lane);
  if (space == AddressSpace::constant && !warp.recent.constant())
    fail(warp, space, kind, "this is no constant memory: " + warp.launch().memory.explain(address, bytes), lane);
  return warp.recent.host + (address - warp.recent.address);
}

std::byte* any_bytes(Warp& warp, AddressSpace space, u64 address, u64 bytes, AccessKind kind, u32 lane) {
  if (space == AddressSpace::generic) {
    const Located l = locate(address);
    space = l.space;
    address = l.address;
  }
  switch (space) {
    case AddressSpace::shared:
    case AddressSpace::shared_cluster: return shared_bytes(warp, space, address, bytes, kind, lane);
    case AddressSpace::local: return local_bytes(warp, address, bytes, kind, lane);
    case AddressSpace::param: return param_bytes(warp, address, bytes, kind, lane);
    default: return global_bytes(warp, space, address, bytes, kind, lane);
  }
}

// Counts what others may notice, and what others may have changed meanwhile: a loop that only looks at shared memory,
// which nobody but its own cluster can change, gets nowhere by looking again.
void note(Warp& warp, AddressSpace space, AccessKind kind, u64 some_address) {
  if (space == AddressSpace::generic) space = locate(some_address).space;
  if (space == AddressSpace::local || space == AddressSpace::param || space == AddressSpace::constant) return;
  Cluster& c = warp.cluster();
  if (kind == AccessKind::write) ++c.advances;
  if (kind != AccessKind::read || space == AddressSpace::global) ++c.events;
}

// What lanes touch that are out of bounds in a run that goes on: zeros to read, and a place where stores are lost.
std::byte* nowhere(u32 lane) {
  constexpr std::size_t most_bytes = 64;
  thread_local std::array<std::array<std::byte, most_bytes>, lanes_per_warp> places;
  places[lane].fill(std::byte{0});
  return places[lane].data();
}

// The addresses that the observer sees are generic.
void observe(Warp& warp, const Op& op, AddressSpace space, const LaneAddresses& addresses, u32 bytes, AccessKind kind,
             u32 active) {
  LaneAddresses generic = addresses;
  const u64 window = space == AddressSpace::shared || space == AddressSpace::shared_cluster ? shared_window
                     : space == AddressSpace::local                                         ? local_window
                                                                                            : 0;
  for (u64& a : generic) a += window;
  warp.launch().observer->access(warp, op, kind, generic.data(), bytes, active);
}

}  // namespace

Located locate(u64 generic) {
  if (in_window(generic, shared_window)) return {AddressSpace::shared_cluster, generic - shared_window};
  if (in_window(generic, local_window)) return {AddressSpace::local, generic - local_window};
  if (is_parameter(generic)) return {AddressSpace::param, generic};
  return {AddressSpace::global, generic};
}

void lane_addresses(const Warp& warp, const Address& address, LaneAddresses& out) {
  const auto offset = static_cast<u64>(address.offset);
  switch (address.base) {
    case AddressBase::row64: {
      const u64* row = warp.source64(address.row);
      for (u32 i = 0; i < lanes_per_warp; ++i) out[i] = row[i] + offset;
      return;
    }
    case AddressBase::row32: {
      const u32* row = warp.source32(address.row);
      for (u32 i = 0; i < lanes_per_warp; ++i) out[i] = row[i] + static_cast<u32>(offset);
      for (u32 i = 0; i < lanes_per_warp; ++i) out[i] = static_cast<u32>(out[i]);
      return;
    }
    case AddressBase::absolute: out.fill(offset); return;
    case AddressBase::shared: out.fill(warp.block().shared_base + offset); return;
    case AddressBase::dynamic_shared:
      out.fill(warp.block().shared_base + warp.launch().entry.dynamic_shared + offset);
      return;
    case AddressBase::frame: out.fill(warp.local_base() + offset); return;
  }
}

void resolve(Warp& warp, const Op& op, AddressSpace space, LaneAddresses& addresses, u32 bytes, u32 alignment,
             AccessKind kind, u32 active, LaneBytes& out) {
  const u64 some = addresses[std::countr_zero(active)];
  note(warp, space, kind, some);
  Observer* const observer = warp.launch().observer;
  // Inactive lanes take the address of an active one, so that the loops below need no mask.
  if (active != all_lanes)
    for (u32 i = 0; i < lanes_per_warp; ++i) addresses[i] = active >> i & 1 ? addresses[i] : some;
  u64 low = some, high = some, bits = 0;
  for (u32 i = 0; i < lanes_per_warp; ++i) {
    low = std::min(low, addresses[i]);
    high = std::max(high, addresses[i]);
    bits |= addresses[i];
  }
  if (bits & (alignment - 1)) [[unlikely]] {
    if (observer != nullptr) observe(warp, op, space, addresses, bytes, kind, active);
    for (u32 i = 0; i < lanes_per_warp; ++i)
      if (active >> i & 1) check_alignment(warp, space, kind, addresses[i], alignment, i);
  }

  // All lanes in one piece of memory: the usual case.
  const u64 span = high - low + bytes;
  if (span >= bytes) {  // no wrap
    std::byte* host = nullptr;
    u64 origin = 0;
    // The lanes may reach from a lower rank's memory into the block's own, or out of it.
    const auto within = [&](const std::vector<std::byte>& shared, u64 base) {
      return low >= base + shared_reserved && span <= shared.size() && low - base <= shared.size() - span;
    };
    if (space == AddressSpace::global || space == AddressSpace::generic) {
      const bool writable = kind == AccessKind::read || !warp.recent.read_only;
      if (warp.recent.holds(low, span) && writable && !is_heap(low)) {
        host = warp.recent.host;
        origin = warp.recent.address;
      } else if (space == AddressSpace::generic && in_window(low, shared_window)) {
        Block& own = warp.block();
        if (within(own.shared, shared_window + own.shared_base)) {
          host = own.shared.data();
          origin = shared_window + own.shared_base;
        }
      }
    } else if (space == AddressSpace::shared || space == AddressSpace::shared_cluster) {
      Block& own = warp.block();
      if (within(own.shared, own.shared_base)) {
        host = own.shared.data();
        origin = own.shared_base;
      }
    }
    if (host != nullptr) {
      for (u32 i = 0; i < lanes_per_warp; ++i) out.at[i] = host + (addresses[i] - origin);
      if (observer != nullptr) [[unlikely]]
        observe(warp, op, space, addresses, bytes, kind, active);
      return;
    }
  }
  out.at.fill(nullptr);
  u32 inside = active;
  for (u32 left = active; left != 0; left &= left - 1) {
    const u32 i = static_cast<u32>(std::countr_zero(left));
    try {
      out.at[i] = any_bytes(warp, space, addresses[i], bytes, kind, i);
    } catch (const Fault& fault) {
      if (observer == nullptr) throw;
      if (fault.finding != fault::out_of_bounds) {
        observe(warp, op, space, addresses, bytes, kind, inside);
        throw;
      }
      observer->out_of_bounds(fault);
      out.at[i] = nowhere(i);
      inside &= ~(1u << i);
    }
  }
  if (observer != nullptr && inside != 0) observe(warp, op, space, addresses, bytes, kind, inside);
  for (u32 i = 0; i < lanes_per_warp; ++i)
    if (out.at[i] == nullptr) out.at[i] = out.at[std::countr_zero(active)];
}

std::byte* resolve_one(Warp& warp, AddressSpace space, u64 address, u64 bytes, u32 alignment, AccessKind kind,
                       u32 lane) {
  note(warp, space, kind, address);
  check_alignment(warp, space, kind, address, alignment, lane);
  return any_bytes(warp, space, address, bytes, kind, lane);
}

std::byte* resolve_or_tell(Warp& warp, AddressSpace space, u64 address, u64 bytes, u32 alignment, AccessKind kind,
                           u32 lane) {
  try {
    return resolve_one(warp, space, address, bytes, alignment, kind, lane);
  } catch (const Fault& fault) {
    Observer* const observer = warp.launch().observer;
    if (observer == nullptr || fault.finding != fault::out_of_bounds) throw;
    observer->out_of_bounds(fault);
    return nullptr;
  }
}

}  // namespace wm::vgpu
