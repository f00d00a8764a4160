// Instructions as the judge speaks of them: a number for each op, its effect, its place in the source.
#pragma once

#include <vector>

#include "vgpu/machine/program.hpp"
#include "warpmill/check.hpp"

namespace wm::vgpu::check {

struct Site {
  const Function* function = nullptr;
  const Effect* effect = nullptr;       // of the op
  const Effect* instruction = nullptr;  // of the instruction it is a part of
  u32 index = 0;                        // of that instruction
  bool reads_unwritten = false;         // a register that no instruction writes
};

class Sites {
 public:
  explicit Sites(const Program& program);
  const Site& at(u32 site) const { return sites_[site]; }
  const Effect& effect(u32 site) const { return *sites_[site].effect; }
  u32 of(const Function& function, u32 op) const { return first_[function.index] + op; }
  u32 of(const Function& function, const Op& op) const {
    return of(function, static_cast<u32>(&op - function.ops.data()));
  }
  // The place for a report; who executed it is left to fill in.
  FindingPlace place(u32 site) const;

 private:
  const Program& program_;
  std::vector<Site> sites_;
  std::vector<u32> first_;  // of each function
};

}  // namespace wm::vgpu::check
