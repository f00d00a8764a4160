// Two blocks that work as a pair: whose mbarrier is told, and where their operands lie.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "vgpu/check/judge.hpp"

namespace wm::vgpu::check {

// The mbarrier at the same place in the other block of its pair.
const Mbarrier* Judge::peers_barrier(const Cluster& cluster, const Mbarrier& barrier) {
  return find_mbarrier(cluster, barrier.address ^ u64{1} << shared_rank_shift);
}

// Whether the bytes that are missing here, or too many, are those of the other block.
bool Judge::bytes_went_to_peer(const Cluster& cluster, const Mbarrier& barrier) {
  const Mbarrier* const peer = peers_barrier(cluster, barrier);
  if (peer == nullptr || peer->bytes != -barrier.bytes) return false;
  const Mbarrier &waits = barrier.bytes > 0 ? barrier : *peer, &told = barrier.bytes > 0 ? *peer : barrier;
  if (!told.copy.exists() || !waits.expectation.exists()) return false;
  findings_.report(Flaw::wrong_peer_barrier, told.copy.site, waits.expectation.site, [&](Finding& finding) {
    finding.message = fmt::format("{} bytes that {} of one block waits for are counted by that of the other block",
                                  waits.bytes, names_.mbarrier(waits.address & shared_offset_mask));
    finding.places = {place(told.copy, "brings them"), place(waits.expectation, "announces them in the other block")};
    findings_.concerns(*waits.circle);
    findings_.concerns(*told.circle);
  });
  return true;
}

// Somebody waits for ever: has a commit arrived in the other block alone?
void Judge::check_commit_to_peer(const Cluster& cluster, const Stamp& waiter, u64 address) {
  const Mbarrier* const barrier = find_mbarrier(cluster, address);
  if (barrier == nullptr || barrier->pending == 0) return;
  const Mbarrier* const peer = peers_barrier(cluster, *barrier);
  if (peer == nullptr || peer->phase <= barrier->phase) return;
  const Stamp& arrival = peer->last_arrival;
  const Effect& effect = sites_.effect(arrival.site);
  if (effect.kind != Effect::Kind::copy_arrival || effect.completion != Completion::tensor_products) return;
  findings_.report(Flaw::wrong_peer_barrier, arrival.site, waiter.site, [&](Finding& finding) {
    finding.message = fmt::format("a commit arrives at {} of one block, and the other block waits for its own",
                                  names_.mbarrier(address & shared_offset_mask));
    finding.places = {place(arrival, "arrives in one block"), place(waiter, "waits in the other")};
    findings_.concerns(*barrier->circle);
    findings_.concerns(*peer->circle);
  });
}

// A product of two blocks takes the same offsets in both: the tiles that it reads there begin at the same ones.
void Judge::check_equal_maps(const Actor& product, const Footprint& operands) {
  std::map<u64, u32> tiles[2];  // by offset, the copy that brought it; of even ranks and of odd ones
  for (const Footprint::Page& read : operands.pages()) {
    if (!is_shared(read.address)) continue;
    const u64 rank = (read.address - shared_window) >> shared_rank_shift;
    const ShadowPage& page = state_of(*product.warp.cluster().blocks[rank]).shared.page(read.address);
    for (const Record& write : page.writes)
      if ((write.grains & read.grains) != 0 && async_[write.stamp.async].layout.row_bytes != 0)
        tiles[rank % 2].try_emplace(async_[write.stamp.async].tile, write.stamp.async);
  }
  const auto missing = [](const auto& here, const auto& there) {
    return std::find_if(here.begin(), here.end(), [&](const auto& tile) { return !there.contains(tile.first); });
  };
  const auto first = missing(tiles[0], tiles[1]), second = missing(tiles[1], tiles[0]);
  if (first == tiles[0].end() || second == tiles[1].end()) return;
  const Stamp &one = async_[first->second].issue, &other = async_[second->second].issue;
  findings_.report(Flaw::unequal_pair, product.stamp.site, one.site, [&](Finding& finding) {
    finding.message = "a product of two blocks reads tiles that begin at different offsets of their shared memory";
    finding.places = {place(product.stamp, "reads both blocks at its own offsets"),
                      place(one, fmt::format("brings a tile to {:#x}", first->first)),
                      place(other, fmt::format("brings a tile to {:#x}", second->first))};
  });
}

}  // namespace wm::vgpu::check
