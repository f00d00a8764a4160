// Words about a run: who waits on what.
#include "vgpu/machine/report.hpp"

#include <bit>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "vgpu/machine/block.hpp"
#include "vgpu/machine/mbarrier.hpp"

namespace wm::vgpu {

namespace {

std::string block_name(const Block& b) { return fmt::format("block ({},{},{})", b.id.x, b.id.y, b.id.z); }

std::string reason(const Cluster& cluster, const Block& block, const Warp& warp, const Part& part) {
  const Wait& w = part.wait;
  switch (w.kind) {
    case WaitKind::none: return "running";
    case WaitKind::pause: return "sleeping";
    case WaitKind::lanes:
      return fmt::format("waits for lanes {:#010x} of its warp", w.lanes & warp.live() & ~part.mask);
    case WaitKind::barrier: {
      const NamedBarrier& b = block.barriers[w.index];
      return fmt::format("waits at barrier {}: {} of {} threads arrived", w.index, b.arrived,
                         b.whole_block ? block.live_threads : b.expected);
    }
    case WaitKind::cluster_barrier:
      return fmt::format("waits at the cluster's barrier: {} of {} threads arrived", cluster.barrier.arrived,
                         cluster.threads);
    case WaitKind::mbarrier: return mbarrier::describe_wait(cluster, w.address, w.parity);
    case WaitKind::copy_groups: return fmt::format("waits until at most {} cp.async groups are pending", w.index);
    case WaitKind::bulk_groups: return fmt::format("waits until at most {} bulk groups are pending", w.index);
    case WaitKind::tensor_memory: return fmt::format("waits for {} columns of tensor memory", w.index);
    case WaitKind::tensor_stores: return "waits for its stores to tensor memory";
    case WaitKind::registers: return fmt::format("waits for {} registers a thread (setmaxnreg)", w.index);
    case WaitKind::products: return "waits for its wgmma";
    case WaitKind::matrix_groups: return fmt::format("waits until at most {} wgmma groups are pending", w.index);
  }
  return "";
}

// "warp 0", "warps 4-7", "warps 1, 3"
std::string warp_names(const std::vector<u32>& warps) {
  std::string text = warps.size() == 1 ? "warp " : "warps ";
  for (std::size_t i = 0; i < warps.size();) {
    std::size_t j = i;
    while (j + 1 < warps.size() && warps[j + 1] == warps[j] + 1) ++j;
    if (i > 0) text += ", ";
    text += j == i ? fmt::format("{}", warps[i]) : fmt::format("{}-{}", warps[i], warps[j]);
    i = j + 1;
  }
  return text;
}

}  // namespace

std::string describe(const Cluster& cluster) {
  const std::string first = block_name(*cluster.blocks.front());
  if (cluster.blocks.size() == 1) return first;
  return fmt::format("cluster {} ({} to {})", cluster.id, first, block_name(*cluster.blocks.back()));
}

std::string list_waiting(const Cluster& cluster) {
  constexpr std::size_t most_lines = 40;
  std::string text;
  std::size_t lines = 0;
  for (const auto& block : cluster.blocks) {
    // (what, lanes, place) -> the warps it is true of
    std::map<std::tuple<std::string, u32, std::string>, std::vector<u32>> groups;
    for (const Warp& warp : block->warps)
      for (const Part& part : warp.parts())
        groups[{reason(cluster, *block, warp, part), part.mask == warp.live() ? all_lanes : part.mask,
                cluster.run->program.place_of(*part.frame.function, part.pc)}]
            .push_back(warp.index());
    for (const auto& [key, warps] : groups) {
      if (++lines > most_lines) return text + "  ...\n";
      const auto& [what, lanes, place] = key;
      const std::string which = lanes == all_lanes ? "" : fmt::format(" lanes {:#010x}", lanes);
      text += fmt::format("  {} {}{}  {}  {}\n", block_name(*block), warp_names(warps), which, what, place);
    }
  }
  if (!text.empty()) text.pop_back();
  return text;
}

}  // namespace wm::vgpu
