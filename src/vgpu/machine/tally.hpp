// How often each instruction of a program was executed, for runs that ask for it.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "vgpu/machine/program.hpp"
#include "warpmill/virtual.hpp"

namespace wm::vgpu {

class Tally {
 public:
  explicit Tally(const Program& program);
  // A warp executes an op; an instruction counts with its first. Safe from several threads.
  void add(const Function& function, u32 pc) {
    const u32 instruction = function.instruction_of[pc];
    if (pc > 0 && function.instruction_of[pc - 1] == instruction) return;
    counts_[function.index][instruction].fetch_add(1, std::memory_order_relaxed);
  }
  // Instructions of the same name together, the most frequent first.
  // `bound` says how far its results may lie from the chip's.
  std::vector<UsedInstruction> used(const std::function<std::string(const ptx::Instruction&)>& bound) const;

 private:
  const Program& program_;
  std::vector<std::unique_ptr<std::atomic<u64>[]>> counts_;  // of a function's instructions
};

}  // namespace wm::vgpu
