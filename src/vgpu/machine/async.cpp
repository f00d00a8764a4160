// When asynchronous operations make progress.
#include "vgpu/machine/async.hpp"

#include <fmt/format.h>

#include "vgpu/machine/block.hpp"
#include "vgpu/machine/fault.hpp"
#include "warpmill/error.hpp"

namespace wm::vgpu {

namespace {
// What an operation finds wrong is told with the instruction that issued it.
bool advance(AsyncOperation& operation, Cluster& cluster, Random* dice) {
  try {
    return operation.advance(cluster, dice);
  } catch (const Error& error) {
    const Origin& o = operation.origin;
    const auto* inner = dynamic_cast<const Fault*>(&error);
    Fault fault(fmt::format("{}\n  --> {}   {} lane {}", error.what(), cluster.run->program.place_of(*o.function, o.pc),
                            o.warp->describe(), o.lane),
                inner != nullptr ? inner->finding : fault::other, error.what());
    fault.function = o.function;
    fault.pc = o.pc;
    fault.block = o.warp->block().id;
    fault.warp = o.warp->index();
    throw fault;
  }
}
}  // namespace

Origin Origin::of(Warp& warp, u32 lane) { return {&warp, warp.function(), warp.pc - 1, lane}; }

void AsyncQueue::issue(Cluster& cluster, std::unique_ptr<AsyncOperation> operation) {
  pending_.push_back(std::move(operation));
  ++cluster.events;
  ++cluster.advances;
  if (cluster.run->options.mode != Mode::adversarial) return;
  // As early as allowed, or as late: both ends find bugs that the middle hides.
  pending_.back()->late = cluster.random.chance(2);
  const std::size_t index = pending_.size() - 1;
  if (!pending_.back()->late && first_of_stream(index))
    while (!advance_at(cluster, index, &cluster.random)) {
    }
}

bool AsyncQueue::first_of_stream(std::size_t index) const {
  const u64 stream = pending_[index]->stream;
  if (stream == 0) return true;
  for (std::size_t i = 0; i < index; ++i)
    if (pending_[i]->stream == stream) return false;
  return true;
}

bool AsyncQueue::advance_at(Cluster& cluster, std::size_t index, Random* dice) {
  ++cluster.events;
  ++cluster.advances;
  if (!advance(*pending_[index], cluster, dice)) return false;
  pending_.erase(pending_.begin() + static_cast<std::ptrdiff_t>(index));
  return true;
}

bool AsyncQueue::pump(Cluster& cluster) {
  if (pending_.empty()) return false;
  if (cluster.run->options.mode == Mode::friendly) {
    for (auto& operation : pending_) advance(*operation, cluster, nullptr);
    pending_.clear();
    ++cluster.events;
    ++cluster.advances;
    return true;
  }
  bool moved = false;
  for (std::size_t i = 0; i < pending_.size();) {
    const bool now = !pending_[i]->late && cluster.random.chance(4) && first_of_stream(i);
    if (!now) {
      ++i;
      continue;
    }
    moved = true;
    if (!advance_at(cluster, i, &cluster.random)) ++i;
  }
  return moved;
}

bool AsyncQueue::force(Cluster& cluster) {
  if (pending_.empty()) return false;
  std::size_t index = 0;
  do index = cluster.random.below(static_cast<u32>(pending_.size()));
  while (!first_of_stream(index));
  advance_at(cluster, index, cluster.run->options.mode == Mode::friendly ? nullptr : &cluster.random);
  return true;
}

}  // namespace wm::vgpu
