// The registers of the text that each instruction of a function reads and writes, as its decoder resolved them.
#pragma once

#include <span>
#include <vector>

#include "vgpu/machine/op.hpp"

namespace wm::vgpu {

class TouchedRegisters {
 public:
  // What is told from here on is of the next instruction.
  void begin() { instructions_.push_back({static_cast<u32>(reads_.size()), static_cast<u32>(writes_.size())}); }
  void read(u32 reg) { reads_.push_back(reg); }
  void write(u32 reg) { writes_.push_back(reg); }

  std::span<const u32> reads(u32 instruction) const { return of(reads_, instruction, &Begin::reads); }
  std::span<const u32> writes(u32 instruction) const { return of(writes_, instruction, &Begin::writes); }
  const std::vector<u32>& all_writes() const { return writes_; }

 private:
  struct Begin {
    u32 reads, writes;
  };
  std::span<const u32> of(const std::vector<u32>& list, u32 instruction, u32 Begin::*begin) const {
    const std::size_t first = instructions_[instruction].*begin;
    const std::size_t end =
        instruction + 1 < instructions_.size() ? instructions_[instruction + 1].*begin : list.size();
    return std::span(list).subspan(first, end - first);
  }
  std::vector<Begin> instructions_;
  std::vector<u32> reads_, writes_;
};

}  // namespace wm::vgpu
