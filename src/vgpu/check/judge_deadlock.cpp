// Nobody can go on: who waits for what, and why it cannot come.
#include <algorithm>

#include <fmt/format.h>

#include "vgpu/check/judge.hpp"

namespace wm::vgpu::check {

// Who has arrived there before, and what keeps them from it now.
std::string Judge::why_pending(const Cluster& cluster, const Mbarrier& barrier) {
  if (barrier.arrivals.empty()) return "; nobody has ever arrived at it";
  std::string text = "; it was last arrived at by";
  const char* comma = "";
  for (const auto& [number, arrival] : barrier.arrivals) {
    bool waits = false;
    for (const auto& block : cluster.blocks)
      if (number / warps_per_block_ == number_of(*block))
        waits = (block->warps[number % warps_per_block_].live() & arrival.lanes) != 0;
    const FindingPlace who = place(arrival, "");
    text += fmt::format("{} warp {} ({}:{}), which {}", comma, who.warp, who.file, who.line,
                        waits ? "waits itself" : "has exited");
    comma = ",";
    if (&arrival == &std::next(barrier.arrivals.begin(), std::min<std::size_t>(barrier.arrivals.size(), 3) - 1)->second)
      break;
  }
  return text;
}

std::string Judge::describe_wait(const Cluster& cluster, const Warp& warp, const Part& part) {
  const Wait& wait = part.wait;
  switch (wait.kind) {
    case WaitKind::mbarrier: {
      const Mbarrier* const barrier = find_mbarrier(cluster, wait.address);
      if (barrier == nullptr) return fmt::format("waits for {}", names_.mbarrier(wait.address));
      const FindingPlace init = place(barrier->init, "");
      std::string text = fmt::format("waits for {}, parity {}: {} of {} arrivals missing (initialised at {}:{})",
                                     names_.mbarrier(wait.address), wait.parity, barrier->pending, barrier->expected,
                                     init.file, init.line);
      if (barrier->bytes != 0)
        text +=
            fmt::format(", {} bytes {}", std::abs(barrier->bytes), barrier->bytes > 0 ? "still to come" : "too many");
      return barrier->pending > 0 ? text + why_pending(cluster, *barrier) : text;
    }
    case WaitKind::barrier: {
      const NamedBarrier& barrier = warp.block().barriers[wait.index];
      return fmt::format("waits at barrier {}: {} of {} threads arrived", wait.index, barrier.arrived,
                         barrier.whole_block ? warp.block().live_threads : barrier.expected);
    }
    case WaitKind::cluster_barrier:
      return fmt::format("waits at the cluster's barrier: {} of {} threads arrived", cluster.barrier.arrived,
                         cluster.threads);
    case WaitKind::lanes:
      return fmt::format("waits for lanes {:#010x} of its warp", wait.lanes & warp.live() & ~part.mask);
    case WaitKind::tensor_memory: return fmt::format("waits for {} columns of tensor memory", wait.index);
    case WaitKind::registers: return fmt::format("waits for {} registers a thread", wait.index);
    default: return "waits";
  }
}

void Judge::stuck(const Cluster& cluster) {
  check_bytes_left(cluster, false);
  for (const auto& block : cluster.blocks) {
    check_warpgroups(*block);
    check_register_budget(*block);
  }
  std::map<std::tuple<u32, u32, std::string>, Stamp> waiting;  // by block, site and words
  for (const auto& block : cluster.blocks)
    for (const Warp& warp : block->warps)
      for (const Part& part : warp.parts()) {
        const u32 site = sites_.of(*part.frame.function, part.pc);
        if (part.wait.kind == WaitKind::mbarrier)
          check_commit_to_peer(cluster, stamp(warp, part.mask, site), part.wait.address);
        waiting.try_emplace({number_of(*block), site, describe_wait(cluster, warp, part)},
                            stamp(warp, part.mask, site));
      }
  findings_.report(Flaw::deadlock, 0, 0, [&](Finding& finding) {
    for (const auto& [key, who] : waiting) finding.places.push_back(place(who, std::get<2>(key)));
  });
}

}  // namespace wm::vgpu::check
