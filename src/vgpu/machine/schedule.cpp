// Who runs next within a cluster, and what happens when nobody can.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "vgpu/machine/block.hpp"
#include "vgpu/machine/fault.hpp"
#include "vgpu/machine/observer.hpp"
#include "vgpu/machine/progress.hpp"
#include "vgpu/machine/report.hpp"
#include "warpmill/error.hpp"

namespace wm::vgpu {

namespace {
constexpr u32 friendly_slice = 512;  // instructions a warp runs before the next one does
// After so many instructions without a visible effect other clusters get their chance; sooner where the last turn was
// already without one.
constexpr u64 most_patience = 8192, least_patience = 128;
// So often may all threads find "not yet" and do nothing that another could see, before it is called a deadlock: long
// enough for a loop that counts its tries to get somewhere.
constexpr u32 idle_limit = 10'000;
}  // namespace

void Cluster::start(Run& launch, u64 cluster_id, std::span<const u32> multiprocessors) {
  run = &launch;
  id = cluster_id;
  barrier = {};
  async.clear();
  random = Random(launch.options.seed * 0x9e3779b97f4a7c15 + cluster_id + 1);
  round = advances = events = idle_events = instructions = 0;
  idle_times = 0;
  patience = most_patience;
  const LaunchShape& s = launch.shape;
  const u32 block_threads = s.block.x * s.block.y * s.block.z;
  const u32 warps = (block_threads + lanes_per_warp - 1) / lanes_per_warp;
  threads = block_threads * launch.cluster_blocks;
  const u64 cx = cluster_id % launch.clusters.x, cy = cluster_id / launch.clusters.x % launch.clusters.y,
            cz = cluster_id / launch.clusters.x / launch.clusters.y;
  blocks.resize(launch.cluster_blocks);
  for (u32 rank = 0; rank < launch.cluster_blocks; ++rank) {
    if (!blocks[rank]) blocks[rank] = std::make_unique<Block>();
    Block& b = *blocks[rank];
    b.cluster = this;
    b.rank = rank;
    b.shared_base = rank << shared_rank_shift;
    const u32 rx = rank % s.cluster.x, ry = rank / s.cluster.x % s.cluster.y, rz = rank / s.cluster.x / s.cluster.y;
    b.id = {static_cast<u32>(cx) * s.cluster.x + rx, static_cast<u32>(cy) * s.cluster.y + ry,
            static_cast<u32>(cz) * s.cluster.z + rz};
    b.shared.assign(shared_reserved + launch.shared_bytes, launch.fresh);
    std::fill(b.shared.begin() + shared_of_groups, b.shared.begin() + shared_reserved, std::byte{});
    b.barriers = {};
    b.threads = b.live_threads = block_threads;
    b.tensor = {};
    b.spare_registers = 0;
    if (!multiprocessors.empty()) {
      b.tensor.multiprocessor = multiprocessors[rank];
      b.tensor.memory = launch.tensor_memories[multiprocessors[rank]].get();
    }
    b.warps.resize(warps);
    b.warpgroups.assign((warps + warps_per_group - 1) / warps_per_group, {});
    for (u32 w = 0; w < warps; ++w) b.warps[w].start(b, w, block_threads - w * lanes_per_warp);
  }
  if (launch.observer != nullptr) launch.observer->cluster_starts(*this);
}

Block* Cluster::block_of(u64 shared_address) {
  const u64 rank = shared_address >> shared_rank_shift;
  return rank < blocks.size() ? blocks[rank].get() : nullptr;
}

u64 Cluster::run_round() {
  ++round;
  u64 ran = 0;
  const Mode mode = run->options.mode;
  if (mode == Mode::friendly) {
    for (auto& block : blocks)
      for (Warp& warp : block->warps)
        if (!warp.finished()) ran += warp.run(static_cast<u32>(std::min<u64>(friendly_slice, patience)));
    return ran;
  }
  std::vector<Warp*> order;
  for (auto& block : blocks)
    for (Warp& warp : block->warps)
      if (!warp.finished()) order.push_back(&warp);
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(static_cast<u32>(i))]);
  // Adversarial: a few warps run far ahead while the others stand.
  const bool stampede = mode == Mode::adversarial && random.chance(2);
  if (stampede) order.resize(std::min<std::size_t>(order.size(), 1 + random.below(2)));
  for (Warp* warp : order) {
    ran += warp->run(stampede ? 4096 : 1 + random.below(64));
    if (async.pump(*this)) ++ran;
  }
  if (ran == 0 && stampede)  // those that stand may be able to go
    for (auto& block : blocks)
      for (Warp& warp : block->warps)
        if (!warp.finished()) ran += warp.run(1 + random.below(64));
  return ran;
}

void Cluster::count(u64 ran) {
  instructions += ran;
  const u64 limit = run->options.max_instructions;
  if (limit != 0 && run->instructions.load(std::memory_order_relaxed) + instructions > limit)
    throw Fault(
        fmt::format("stopped: the kernel ran more than {} warp instructions (max_instructions; on the command line "
                    "--max-instructions N, 0 for no limit)\n{}",
                    limit, list_waiting(*this)),
        fault::no_end, fmt::format("the kernel ran more than {} warp instructions without an end", limit));
}

Turn Cluster::advance(u64 budget, Progress* progress) {
  struct Counted {  // also where the run ends with an error
    Cluster& cluster;
    ~Counted() {
      cluster.run->instructions.fetch_add(std::exchange(cluster.instructions, 0), std::memory_order_relaxed);
    }
  } const counted{*this};
  u64 used = 0;
  u64 spun = 0, seen = advances;
  bool live = true;
  while (live && used < budget && spun < patience) {
    const u64 ran = run_round();
    const bool moved = async.pump(*this);
    live = std::any_of(blocks.begin(), blocks.end(), [](const auto& b) { return !b->finished(); }) || !async.empty();
    used += ran;
    spun = advances == seen ? spun + ran : 0;
    seen = advances;
    count(ran);
    if (live && ran == 0 && !moved && !unblock()) return Turn::outside;
    if (run->stop.load(std::memory_order_relaxed)) return Turn::ended;
    if (progress != nullptr) progress->look(instructions);
  }
  patience = spun < patience ? most_patience : std::max(patience / 4, least_patience);
  if (live) return Turn::over;
  if (run->observer != nullptr) run->observer->cluster_ends(*this);
  run->clusters_done.fetch_add(1, std::memory_order_relaxed);
  return Turn::ended;
}

// No part of any warp can run. Work in flight goes on; else waits that may answer "not yet" do; else, false, another
// cluster may help; else nothing ever will.
bool Cluster::unblock() {
  if (async.force(*this)) return true;
  bool can = false, outside = false;
  for (auto& block : blocks)
    for (Warp& warp : block->warps)
      for (Part& part : warp.parts()) {
        outside |= part.wait.kind == WaitKind::tensor_memory;
        if (part.wait.kind == WaitKind::pause || part.wait.may_give_up) {
          part.wait.until = 0;
          can = true;
        }
      }
  idle_times = events == idle_events ? idle_times + 1 : 0;
  idle_events = events;
  constexpr u32 polls = 16;  // for what may come from another cluster, before that one gets its turn
  if (can && idle_times <= (outside ? polls : idle_limit)) return true;
  if (!outside) deadlock();
  idle_times = 0;
  return false;
}

void Cluster::deadlock() {
  if (run->observer != nullptr) run->observer->stuck(*this);
  const std::string what = fmt::format("no warp of {} can go on, and nothing is in flight", describe(*this));
  throw Fault(fmt::format("deadlock: {}\n{}", what, list_waiting(*this)), fault::deadlock, what);
}

}  // namespace wm::vgpu
