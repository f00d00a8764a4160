// What asynchronous copies share.
#include "vgpu/isa/async_copy.hpp"

#include <fmt/format.h>

#include "vgpu/machine/fault.hpp"

namespace wm::vgpu::isa {

std::vector<Destination> destinations(Warp& warp, u32 lane, u64 shared, u64 barrier, const u32* mask, bool for_pairs) {
  if (mask == nullptr) {
    const u64 from = shared >> shared_rank_shift, to = barrier >> shared_rank_shift;
    if (for_pairs && from / 2 != to / 2)
      warp.fault(fmt::format("the copy is to block {} of the cluster, and its mbarrier lies in block {}: with "
                             "`.cta_group::2` it lies in the same block or in the other of its pair",
                             from, to),
                 lane);
    return {{shared, barrier}};
  }
  std::vector<Destination> all;
  const u32 blocks = static_cast<u32>(warp.cluster().blocks.size());
  const u32 named = *mask & 0xffff;
  if (named >> blocks != 0)
    warp.fault(fmt::format("the multicast mask {:#x} names blocks that a cluster of {} does not have", named, blocks),
               lane);
  for (u32 rank = 0; rank < blocks; ++rank)
    if (named >> rank & 1) {
      const u64 base = u64{rank} << shared_rank_shift;
      const u64 counting = for_pairs ? (rank & ~1u) | (barrier >> shared_rank_shift & 1) : rank;
      all.push_back(
          {base | (shared & shared_offset_mask), counting << shared_rank_shift | (barrier & shared_offset_mask)});
    }
  return all;
}

std::byte* shared_at(Cluster& cluster, u64 address, u64 bytes, const char* what) {
  Block* block = cluster.block_of(address);
  const u64 offset = address & shared_offset_mask;
  if (block == nullptr || offset < shared_reserved || bytes > block->shared.size() ||
      offset > block->shared.size() - bytes)
    throw Fault(
        fmt::format("{}: {} bytes at shared address {:#x} lie outside the block's shared memory", what, bytes, address),
        fault::out_of_bounds);
  return block->shared.data() + offset;
}

Region region_of(const Memory& memory, u64 address, u64 bytes, const char* what) {
  const Region region = memory.find(address);
  if (region.holds(address, bytes)) return region;
  throw Fault(fmt::format("{}: {}", what, memory.explain(address, bytes)),
              memory.was_freed(address) ? fault::use_after_free : fault::out_of_bounds);
}

}  // namespace wm::vgpu::isa
