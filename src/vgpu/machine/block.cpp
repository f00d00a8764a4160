// Barriers of a block and of a cluster.
#include "vgpu/machine/block.hpp"

#include <bit>

namespace wm::vgpu {

void Block::arrive(u32 barrier, const Warp& warp, u32 lanes, u32 threads) {
  NamedBarrier& b = barriers[barrier];
  b.arrived += std::popcount(lanes);
  if (threads == 0) {
    b.whole_block = true;
  } else {
    b.expected = threads;
    // Counts are in whole warps: lanes that have ended, or that a last short warp never had, count with the others.
    if (b.credited[warp.index()] != b.generation + 1) {
      b.credited[warp.index()] = b.generation + 1;
      b.arrived += lanes_per_warp - std::popcount(warp.live());
    }
  }
  ++cluster->events;
  ++cluster->advances;
  settle(barrier);
}

void Block::settle(u32 barrier) {
  NamedBarrier& b = barriers[barrier];
  if (b.arrived == 0 || b.arrived < (b.whole_block ? live_threads : b.expected)) return;
  b.results[b.generation & 1] = {b.votes, b.voters};
  ++b.generation;
  b.arrived = b.expected = b.votes = b.voters = 0;
  b.whole_block = false;
}

void Block::threads_left(u32 count) {
  live_threads -= count;
  for (u32 i = 0; i < barriers_per_block; ++i)
    if (barriers[i].whole_block) settle(i);
}

bool Block::has_registers(const Warp& warp, u32 count) const {
  return u64{count} * lanes_per_warp <= spare_registers + u64{warp.registers} * lanes_per_warp;
}

void Block::set_registers(Warp& warp, u32 count) {
  spare_registers = spare_registers + u64{warp.registers} * lanes_per_warp - u64{count} * lanes_per_warp;
  warp.registers = count;
  ++cluster->events;
  ++cluster->advances;
}

void Cluster::settle() {
  if (barrier.arrived < threads) return;
  ++barrier.generation;
  barrier.arrived = barrier.left;
}

void Run::print(std::string_view text) {
  constexpr std::size_t most = std::size_t{16} << 20;  // a kernel that prints forever must not take all memory
  std::lock_guard lock(print_mutex);
  if (printed.size() < most) printed.append(text.substr(0, most - printed.size()));
}

}  // namespace wm::vgpu
