// Counting, and the list that comes of it.
#include "vgpu/machine/tally.hpp"

#include <algorithm>
#include <map>

namespace wm::vgpu {

Tally::Tally(const Program& program) : program_(program) {
  for (const Function& function : program.functions())
    counts_.push_back(std::make_unique<std::atomic<u64>[]>(function.source->instructions.size()));
}

std::vector<UsedInstruction> Tally::used(const std::function<std::string(const ptx::Instruction&)>& bound) const {
  std::map<std::string, UsedInstruction> by_name;
  for (const Function& function : program_.functions())
    for (std::size_t i = 0; i < function.source->instructions.size(); ++i) {
      const u64 times = counts_[function.index][i].load();
      if (times == 0) continue;
      const ptx::Instruction& instruction = function.source->instructions[i];
      UsedInstruction& entry = by_name[instruction.full_name()];
      if (entry.times == 0) entry = {instruction.full_name(), 0, bound(instruction)};
      entry.times += times;
    }
  std::vector<UsedInstruction> all;
  for (auto& [name, entry] : by_name) all.push_back(std::move(entry));
  std::ranges::stable_sort(all, [](const auto& a, const auto& b) { return a.times > b.times; });
  return all;
}

}  // namespace wm::vgpu
