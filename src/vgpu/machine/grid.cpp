// Running a whole launch: residency, and the work of the host threads.
#include "vgpu/machine/grid.hpp"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <iterator>
#include <numeric>
#include <optional>
#include <thread>

#include <fmt/format.h>

#include "common/launch_rules.hpp"
#include "vgpu/machine/progress.hpp"
#include "warpmill/error.hpp"

namespace wm::vgpu {

namespace {

// Asked for once: the answer is read from a file.
u64 cores() {
  static const u64 count = std::max(1u, std::thread::hardware_concurrency());
  return count;
}

constexpr u64 turn_instructions = u64{1} << 20;  // of a cluster, before others that wait get theirs

[[noreturn]] void refuse(const std::string& why) { throw Error(ErrorCode::launch, why); }

// The clusters of a grid, handed to host threads. A cluster that used up its turn, or spins, goes to the back: blocks
// that wait for other resident blocks through global memory see them run, with one host thread as with many.
class Grid {
 public:
  Grid(Run& run, u64 clusters, u64 resident, u32 blocks_per_multiprocessor)
      : run_(run),
        total_(clusters),
        resident_limit_(resident),
        blocks_per_multiprocessor_(blocks_per_multiprocessor),
        seated_(run.tensor_memories.size()) {
    random_ = Random(run.options.seed ^ 0x5bd1e995);
    run.cancel_cluster = [this]() -> std::optional<u64> {
      const std::lock_guard lock(mutex_);
      if (started_ == total_) return std::nullopt;
      return started_++;
    };
  }

  // `progress` (or null) is that of the thread that launched.
  void work(Progress* progress = nullptr) {
    try {
      while (auto cluster = next(progress)) {
        u64 turn = turn_instructions;
        if (run_.options.mode != Mode::friendly) turn = 1 + random_.below(20000);
        const Turn became = cluster->advance(turn, progress);
        give_back(std::move(cluster), became);
      }
    } catch (...) {
      fail(std::current_exception());  // a cluster that could not start included; all the others stop
    }
  }

  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  std::unique_ptr<Cluster> next(Progress* progress) {
    std::unique_lock lock(mutex_);
    while (true) {
      if (run_.stop.load()) return nullptr;
      const bool can_start = started_ < total_ && resident_ < resident_limit_ && has_seats();
      const bool waiting = !suspended_.empty();
      if (can_start && (!waiting || prefer_new())) return start(lock);
      if (waiting) return resume();
      if (resident_ == 0 && started_ == total_) return nullptr;
      if (!stuck_.empty() && stuck_.size() == resident_) stuck_.front()->deadlock();  // nobody is left who could help
      if (progress == nullptr) {
        changed_.wait(lock);
        continue;
      }
      changed_.wait_for(lock, Progress::interval);
      lock.unlock();
      progress->look(0);
      lock.lock();
    }
  }

  // New clusters come before old ones, so that all that fit are soon resident; the dice may say otherwise.
  bool prefer_new() { return run_.options.mode == Mode::friendly || random_.chance(2); }

  std::unique_ptr<Cluster> start(std::unique_lock<std::mutex>& lock) {
    const u64 id = started_++;
    ++resident_;
    const std::vector<u32> seats = take_seats();
    std::unique_ptr<Cluster> cluster;
    if (!spare_.empty()) {
      cluster = std::move(spare_.back());
      spare_.pop_back();
    }
    lock.unlock();
    if (!cluster) cluster = std::make_unique<Cluster>();
    cluster->start(run_, id, seats);
    return cluster;
  }

  // Where tensor memory is used, the blocks of a cluster run on different multiprocessors, the emptiest ones.
  bool has_seats() const {
    if (run_.tensor_memories.empty()) return true;
    const auto room = [&](u32 seated) { return seated < blocks_per_multiprocessor_; };
    return std::count_if(seated_.begin(), seated_.end(), room) >= run_.cluster_blocks;
  }
  std::vector<u32> take_seats() {
    if (run_.tensor_memories.empty()) return {};
    std::vector<u32> seats(seated_.size());
    std::iota(seats.begin(), seats.end(), 0);
    std::stable_sort(seats.begin(), seats.end(), [&](u32 a, u32 b) { return seated_[a] < seated_[b]; });
    seats.resize(run_.cluster_blocks);
    std::sort(seats.begin(), seats.end());
    for (const u32 seat : seats) {
      ++seated_[seat];
      auto& memory = run_.tensor_memories[seat];
      if (!memory) memory = std::make_unique<TensorMemory>(run_.fresh);
    }
    return seats;
  }
  void leave_seats(const Cluster& cluster) {
    if (run_.tensor_memories.empty()) return;
    for (const auto& block : cluster.blocks) --seated_[block->tensor.multiprocessor];
  }

  std::unique_ptr<Cluster> resume() {
    std::size_t index = 0;
    if (run_.options.mode != Mode::friendly) index = random_.below(static_cast<u32>(suspended_.size()));
    auto cluster = std::move(suspended_[index]);
    suspended_.erase(suspended_.begin() + static_cast<std::ptrdiff_t>(index));
    return cluster;
  }

  void give_back(std::unique_ptr<Cluster> cluster, Turn became) {
    std::lock_guard lock(mutex_);
    switch (became) {
      case Turn::ended:
        --resident_;
        leave_seats(*cluster);
        spare_.push_back(std::move(cluster));
        break;
      case Turn::over: suspended_.push_back(std::move(cluster)); break;
      case Turn::outside: stuck_.push_back(std::move(cluster)); break;
    }
    if (const u64 frees = run_.tensor_frees.load(); frees != frees_seen_) {
      frees_seen_ = frees;
      std::move(stuck_.begin(), stuck_.end(), std::back_inserter(suspended_));
      stuck_.clear();
    }
    changed_.notify_all();
  }

  void fail(std::exception_ptr error) {
    std::lock_guard lock(mutex_);
    if (!error_) error_ = error;
    run_.stop.store(true);
    changed_.notify_all();
  }

  Run& run_;
  const u64 total_, resident_limit_;
  std::mutex mutex_;
  std::condition_variable changed_;
  u64 started_ = 0, resident_ = 0;
  std::deque<std::unique_ptr<Cluster>> suspended_;
  std::vector<std::unique_ptr<Cluster>> stuck_;  // until others give back tensor memory
  u64 frees_seen_ = 0;
  const u32 blocks_per_multiprocessor_;
  std::vector<u32> seated_;  // blocks on each multiprocessor, where tensor memory is used
  std::vector<std::unique_ptr<Cluster>> spare_;
  std::exception_ptr error_;
  Random random_;
};

}  // namespace

u32 blocks_per_multiprocessor(const Chip& chip, u32 threads, u32 shared_bytes, const Function& entry) {
  const u32 reserved = chip.arch.major >= 8 ? shared_reserved : 0;
  if (shared_bytes > chip.shared_bytes_per_block)
    refuse(fmt::format("a block asks for {} bytes of shared memory; {} has {} a block", shared_bytes, chip.arch.name(),
                       chip.shared_bytes_per_block));
  const u32 rounded_threads = (threads + lanes_per_warp - 1) / lanes_per_warp * lanes_per_warp;
  u64 fit = chip.blocks_per_multiprocessor;
  fit = std::min<u64>(fit, static_cast<u64>(chip.threads_per_multiprocessor) / rounded_threads);
  fit = std::min<u64>(fit, chip.shared_bytes_per_multiprocessor / (shared_bytes + reserved));
  if (entry.source->max_registers != 0)
    fit = std::min<u64>(fit, static_cast<u64>(chip.registers_per_multiprocessor) /
                                 (u64{entry.source->max_registers} * rounded_threads));
  if (fit == 0)
    refuse(
        fmt::format("a block of {} threads with {} bytes of shared memory and {} registers a thread does not fit on "
                    "a multiprocessor of {} threads, {} bytes and {} registers",
                    threads, shared_bytes, entry.source->max_registers, chip.threads_per_multiprocessor,
                    chip.shared_bytes_per_multiprocessor, chip.registers_per_multiprocessor));
  return static_cast<u32>(fit);
}

namespace {

u32 registers_at_launch(const Run& run) {
  constexpr u32 unit = 8, most = 256;
  const ptx::Function& source = *run.entry.source;
  const u32 asked = (source.max_registers + unit - 1) / unit * unit;  // .maxnreg; 0: not said
  u64 threads = 0;
  for (const auto* bounds : {&source.max_threads, &source.required_threads})
    if (bounds->size() == 3) threads = std::max(threads, u64{(*bounds)[0]} * (*bounds)[1] * (*bounds)[2]);
  if (threads == 0) return asked != 0 ? std::min(asked, most) : most;
  threads = (threads + lanes_per_warp - 1) / lanes_per_warp * lanes_per_warp * std::max(1u, source.min_blocks);
  const u64 left = static_cast<u64>(run.chip.registers_per_multiprocessor) / threads / unit * unit;
  return static_cast<u32>(std::min({left, u64{most}, u64{asked != 0 ? asked : most}}));
}

}  // namespace

void check_shape(Run& run, const ProgramKernel& kernel) {
  LaunchShape& s = run.shape;
  const LaunchRules rules{.arch = run.chip.arch,
                          .cluster_blocks = most_cluster_blocks(run.chip.arch),
                          .block_threads = kernel.max_threads,
                          .required_block = kernel.required_block,
                          .required_cluster = kernel.required_cluster};
  if (const auto refusal = launch_refusal(rules, s.grid, s.block, s.cluster))
    refuse(fmt::format("launch of `{}` refused: {}", kernel.name, *refusal));
  s.cluster = cluster_of(rules, s.cluster);
  run.explicit_cluster = s.cluster != Dim3{} || run.entry.source->explicit_cluster;
  run.cluster_blocks = static_cast<u32>(volume(s.cluster));
  run.clusters = {s.grid.x / s.cluster.x, s.grid.y / s.cluster.y, s.grid.z / s.cluster.z};
  const u64 shared = u64{run.entry.dynamic_shared} + s.shared_bytes;
  const u64 end = s.shared_bytes > 0 ? shared : run.entry.shared_end;
  run.shared_bytes = static_cast<u32>(std::min<u64>(end - shared_reserved, ~0u));
  run.registers = registers_at_launch(run);
}

void run_grid(Run& run, RunReport& report) {
  const u32 threads = static_cast<u32>(volume(run.shape.block));
  const u32 fit = blocks_per_multiprocessor(run.chip, threads, run.shared_bytes, run.entry);
  const u64 capacity = u64{fit} * static_cast<u64>(run.chip.multiprocessors);
  if (capacity < run.cluster_blocks)
    refuse(fmt::format("a cluster of {} blocks does not fit on a chip that holds {}", run.cluster_blocks, capacity));
  if (run.program.uses_tensor_memory) {
    if (run.cluster_blocks > static_cast<u32>(run.chip.multiprocessors))
      refuse(
          fmt::format("a cluster of {} blocks that use tensor memory needs as many multiprocessors, and the chip has "
                      "{}",
                      run.cluster_blocks, run.chip.multiprocessors));
    run.tensor_memories.resize(static_cast<std::size_t>(run.chip.multiprocessors));
  }
  const u64 clusters = volume(run.clusters);
  std::optional<Progress> progress;
  if (run.options.progress) progress.emplace(run, clusters * run.cluster_blocks);
  Grid grid(run, clusters, capacity / run.cluster_blocks, fit);
  u64 workers = 1;
  if (!run.options.deterministic && run.options.mode == Mode::friendly) {
    workers = run.options.host_threads > 0 ? static_cast<u64>(run.options.host_threads) : cores();
    workers = std::min(workers, clusters);
  }
  std::vector<std::jthread> helpers;
  for (u64 i = 1; i < workers; ++i) helpers.emplace_back([&grid] { grid.work(); });
  grid.work(progress ? &*progress : nullptr);
  helpers.clear();
  report.warp_instructions = run.instructions.load();
  report.blocks = run.clusters_done.load() * run.cluster_blocks;
  report.printed = std::move(run.printed);
  grid.rethrow();
}

}  // namespace wm::vgpu
