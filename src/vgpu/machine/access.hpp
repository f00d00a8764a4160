// From the addresses of a warp's lanes to host bytes. Every access of an instruction goes through here: bounds,
// alignment, and the judge's ear.
#pragma once

#include <array>
#include <cstddef>

#include "vgpu/machine/block.hpp"
#include "vgpu/machine/observer.hpp"
#include "vgpu/machine/warp.hpp"
#include "vgpu/memory/spaces.hpp"

namespace wm::vgpu {

using LaneAddresses = std::array<u64, lanes_per_warp>;

// Host bytes of each active lane.
struct LaneBytes {
  std::array<std::byte*, lanes_per_warp> at;
};

// The addresses as the instruction's space counts them; inactive lanes hold anything.
void lane_addresses(const Warp& warp, const Address& address, LaneAddresses& out);

// Checks `bytes` at each active lane's address, `alignment` of it (a power of two), and gives the host's places.
// Faults where anything is wrong.
void resolve(Warp& warp, const Op& op, AddressSpace space, LaneAddresses& addresses, u32 bytes, u32 alignment,
             AccessKind kind, u32 active, LaneBytes& out);

// One lane's access of any length, for the copies: `bytes` that lie together. Shared addresses may name any block of
// the cluster where the space is shared_cluster or generic.
std::byte* resolve_one(Warp& warp, AddressSpace space, u64 address, u64 bytes, u32 alignment, AccessKind kind,
                       u32 lane);
// The same; where it is out of bounds and somebody watches, he is told, and there is nothing.
std::byte* resolve_or_tell(Warp& warp, AddressSpace space, u64 address, u64 bytes, u32 alignment, AccessKind kind,
                           u32 lane);

// The space and space-relative address of a generic address.
struct Located {
  AddressSpace space = AddressSpace::global;
  u64 address = 0;
};
Located locate(u64 generic);

}  // namespace wm::vgpu
