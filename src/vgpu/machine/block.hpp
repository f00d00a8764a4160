// What is resident while a kernel runs: blocks with their shared memory and barriers, clusters of them, the launch.
#pragma once

#include <array>
#include <atomic>
#include <exception>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "vgpu/machine/async.hpp"
#include "vgpu/machine/random.hpp"
#include "vgpu/machine/tensor_memory.hpp"
#include "vgpu/machine/warp.hpp"
#include "vgpu/machine/warpgroup.hpp"
#include "vgpu/memory/spaces.hpp"
#include "warpmill/virtual.hpp"

namespace wm::vgpu {

// A barrier of the block (bar.sync and friends): it waits for `expected` threads, or for every live one.
struct NamedBarrier {
  u64 generation = 0;
  u32 arrived = 0;
  u32 expected = 0;
  bool whole_block = false;
  std::array<u64, 32> credited{};  // per warp: the generation (+1) in which its missing lanes were counted
  u32 votes = 0, voters = 0;       // bar.red: how many threads said yes in this generation, and how many had a say
  struct Result {
    u32 yes = 0, voters = 0;
  };
  std::array<Result, 2> results{};  // of the last two generations
};

inline constexpr u32 barriers_per_block = 16;

struct Block {
  Cluster* cluster = nullptr;
  Dim3 id;
  u32 rank = 0;                   // in the cluster
  u32 shared_base = 0;            // rank << 24
  std::vector<std::byte> shared;  // from offset 0; the first 0x400 bytes are the system's
  std::vector<Warp> warps;
  std::vector<Warpgroup> warpgroups;
  std::array<NamedBarrier, barriers_per_block> barriers;
  u32 threads = 0, live_threads = 0;
  TensorShare tensor;
  u64 spare_registers = 0;  // of those it was started with: given back by setmaxnreg and not taken again

  // Counts arrivals of `lanes` of a warp at a barrier. `threads` 0: all of the block.
  void arrive(u32 barrier, const Warp& warp, u32 lanes, u32 threads);
  void settle(u32 barrier);  // completes the barrier if all are there
  void threads_left(u32 count);
  // Whether there are enough for each thread of a warp to have `count`; and gives or takes them back.
  bool has_registers(const Warp& warp, u32 count) const;
  void set_registers(Warp& warp, u32 count);
  bool finished() const { return live_threads == 0; }
};

struct ClusterBarrier {
  u64 generation = 0;
  u32 arrived = 0;  // of all threads of the cluster; one that has ended counts as arrived in every later phase
  u32 left = 0;
};

class Progress;

// What became of a cluster's turn: all its threads have ended; it can go on; it waits for what another cluster gives
// back.
enum class Turn : u8 { ended, over, outside };

// Blocks that run together, on one host thread at a time. Everything that can block a warp lies within its cluster,
// but columns of tensor memory that blocks of other clusters have.
struct Cluster {
  Run* run = nullptr;
  u64 id = 0;
  std::vector<std::unique_ptr<Block>> blocks;
  ClusterBarrier barrier;
  AsyncQueue async;
  Random random;
  u64 round = 0;        // how often the scheduler has been through the warps
  u32 threads = 0;      // of all blocks, when they started
  u64 advances = 0;     // what changed something others can see: stores, arrivals, completions
  u64 events = 0;       // those, and looks at memory that others may change
  u64 idle_events = 0;  // `events` when it last stood still
  u32 idle_times = 0;
  u64 patience = 0;      // instructions it may run without a visible effect before it has to make room
  u64 instructions = 0;  // not yet added to the run's

  // Takes up a cluster of the grid: blocks at their first instruction. `multiprocessors` of the blocks are for those
  // that use tensor memory.
  void start(Run& run, u64 id, std::span<const u32> multiprocessors);
  // Runs about `budget` warp instructions; ended when all its threads have and nothing is in flight. `progress` (or
  // null) is told now and then.
  Turn advance(u64 budget, Progress* progress);
  // Nobody can go on, and nothing will change that: ends the run.
  [[noreturn]] void deadlock();
  void settle();                        // completes the cluster barrier if all are there
  Block* block_of(u64 shared_address);  // by the rank in the address; null where there is none

 private:
  u64 run_round();
  bool unblock();
  void count(u64 ran);
};

class Observer;
class Tally;

// One launch.
struct Run {
  Run(const Chip& on, Memory& with, const Program& code, const Function& kernel)
      : chip(on), memory(with), program(code), entry(kernel) {}
  const Chip& chip;
  Memory& memory;
  const Program& program;
  const Function& entry;
  LaunchShape shape;
  RunOptions options;
  Dim3 clusters;  // the grid counted in clusters
  u32 cluster_blocks = 1;
  bool explicit_cluster = false;
  // Of each byte of fresh shared and tensor memory. Not zeros, to rely on: all ones are NaN in every floating type.
  std::byte fresh{0xff};
  u32 shared_bytes = 0;  // a block: static and dynamic, without the reserved part
  // That a thread of a kernel with setmaxnreg starts with: what its launch bounds leave for each, in whole units of
  // allocation. Without bounds ptxas drops setmaxnreg, and every thread has the most that it could ask for.
  u32 registers = 0;
  std::vector<std::byte> parameters;
  Observer* observer = nullptr;  // the judge; none in plain runs
  Tally* tally = nullptr;        // where instructions are counted
  std::atomic<u64> instructions{0}, clusters_done{0};
  std::atomic<bool> stop{false};
  std::vector<std::unique_ptr<TensorMemory>> tensor_memories;  // of the multiprocessors; empty: the program uses none
  std::function<std::optional<u64>()> cancel_cluster;          // takes one out of those that have not started
  std::atomic<u64> tensor_frees{0};                            // how often columns were given back
  std::exception_ptr caller_error;                             // what options.progress threw
  std::mutex print_mutex;
  std::string printed;

  void print(std::string_view text);
};

inline Cluster& Warp::cluster() const { return *block_->cluster; }
inline Run& Warp::launch() const { return *block_->cluster->run; }

}  // namespace wm::vgpu
