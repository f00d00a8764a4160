// When asynchronous operations make progress.
#include "vgpu/machine/async.hpp"

#include <algorithm>

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
    throw placed(error, operation.origin, *cluster.run);
  }
}
}  // namespace

Fault placed(const Error& error, const Origin& o, const Run& run) {
  const auto* inner = dynamic_cast<const Fault*>(&error);
  Fault fault(fmt::format("{}\n  --> {}   {} lane {}", error.what(), run.program.place_of(*o.function, o.pc),
                          o.warp->describe(), o.lane),
              inner != nullptr ? inner->finding : fault::other, error.what());
  fault.function = o.function;
  fault.pc = o.pc;
  fault.block = o.warp->block().id;
  fault.warp = o.warp->index();
  return fault;
}

Origin Origin::of(Warp& warp, u32 lane) { return {&warp, warp.function(), warp.pc - 1, lane}; }

void AsyncQueue::issue(Cluster& cluster, std::unique_ptr<AsyncOperation> operation) {
  ++cluster.events;
  ++cluster.advances;
  operation->number = ++issued_;
  if (operation->stream != 0) {
    streams_[operation->stream].push_back(operation.get());
    if (const auto from = acquired_.find(operation->stream); from != acquired_.end()) operation->follows = from->second;
  }
  // As early as allowed, or only when nobody can go on without it: both ends find bugs that the middle hides.
  const bool adversarial = cluster.run->options.mode == Mode::adversarial;
  const bool late = adversarial && cluster.random.chance(2);
  Operations& operations = late ? late_ : pending_;
  operations.push_back(std::move(operation));
  if (adversarial && !late && may_advance(*pending_.back()))
    while (!advance_at(cluster, pending_, pending_.size() - 1, &cluster.random)) {
    }
}

bool AsyncQueue::may_advance(const AsyncOperation& operation) const {
  if (operation.stream == 0) return true;
  if (streams_.at(operation.stream).front() != &operation) return false;
  if (operation.follows == 0 || released_ == 0) return true;
  return std::none_of(streams_.begin(), streams_.end(), [&](const auto& stream) {
    return stream.first != operation.stream && !stream.second.empty() && stream.second.front()->released &&
           stream.second.front()->number < operation.follows;
  });
}

void AsyncQueue::release(u64 first, u32 lanes) {
  for (auto stream = streams_.lower_bound(first); stream != streams_.end() && stream->first < first + lanes_per_warp;
       ++stream)
    if (lanes >> (stream->first - first) & 1)
      for (AsyncOperation* operation : stream->second) {
        released_ += !operation->released;
        operation->released = true;
      }
}

void AsyncQueue::acquire(u64 first, u32 lanes) {
  if (released_ == 0) return;
  for (u32 lane = 0; lane < lanes_per_warp; ++lane)
    if (lanes >> lane & 1) acquired_[first + lane] = issued_ + 1;
}

// What is done leaves its place to the last of them.
bool AsyncQueue::advance_at(Cluster& cluster, Operations& operations, std::size_t index, Random* dice) {
  ++cluster.events;
  ++cluster.advances;
  if (!advance(*operations[index], cluster, dice)) return false;
  released_ -= operations[index]->released;
  if (const u64 stream = operations[index]->stream; stream != 0) streams_.at(stream).pop_front();
  operations[index] = std::move(operations.back());
  operations.pop_back();
  return true;
}

bool AsyncQueue::pump(Cluster& cluster) {
  if (pending_.empty()) return false;
  if (cluster.run->options.mode == Mode::friendly) {
    for (auto& operation : pending_) advance(*operation, cluster, nullptr);
    clear();
    ++cluster.events;
    ++cluster.advances;
    return true;
  }
  bool moved = false;
  for (std::size_t i = 0; i < pending_.size();) {
    if (!cluster.random.chance(4) || !may_advance(*pending_[i])) {
      ++i;
      continue;
    }
    moved = true;
    if (!advance_at(cluster, pending_, i, &cluster.random)) ++i;
  }
  return moved;
}

bool AsyncQueue::force(Cluster& cluster) {
  const std::size_t all = pending_.size() + late_.size();
  if (all == 0) return false;
  Random* const dice = cluster.run->options.mode == Mode::friendly ? nullptr : &cluster.random;
  // One; where very many are held back, a few, because everybody looks for what it waits for after each.
  for (std::size_t left = 1 + all / 128; left > 0 && !empty();) {
    const std::size_t index = cluster.random.below(static_cast<u32>(pending_.size() + late_.size()));
    Operations& operations = index < pending_.size() ? pending_ : late_;
    const std::size_t at = index < pending_.size() ? index : index - pending_.size();
    if (!may_advance(*operations[at])) continue;
    advance_at(cluster, operations, at, dice);
    --left;
  }
  return true;
}

}  // namespace wm::vgpu
