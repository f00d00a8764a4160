// Instructions as the judge speaks of them: what their text says of order and scope, and where they stand in the
// source.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "vgpu/check/clock.hpp"
#include "vgpu/machine/program.hpp"
#include "warpmill/check.hpp"

namespace wm::vgpu::check {

// What the judge does when an instruction runs.
enum class Action : u8 {
  none,
  fence,           // fence, membar
  proxy_fence,     // fence.proxy.async
  init_fence,      // fence.mbarrier_init
  map_release,     // fence.proxy.tensormap::generic.release
  map_acquire,     // fence.proxy.tensormap::generic.acquire
  warp_sync,       // bar.warp.sync
  cluster_arrive,  // barrier.cluster.arrive
  cluster_wait,
  copy_commit,  // cp.async
  copy_wait,
  bulk_commit,  // cp.async.bulk
  bulk_wait,
  matrix,  // wgmma.mma_async
  matrix_fence,
  matrix_commit,
  matrix_wait,
  set_registers,  // setmaxnreg
};

struct Site {
  const Function* function = nullptr;
  u32 op = 0;
  const ptx::Instruction* instruction = nullptr;
  Action action = Action::none;
  Scope scope = Scope::device;
  bool strong = false, acquire = false, release = false;  // of a memory access or a fence
  bool atomic = false, compares = false;                  // atom, red; atom.cas
  bool relaxed = false;                                   // said in so many words
  bool aligned = false;                                   // .aligned: the whole warp executes it
  bool first_op = true;                                   // an instruction may be several ops
  bool copy = false;                                      // cp.async and its kin: their accesses are the copy's
  bool shared = true, global = true;                      // the memories of a proxy fence
  bool reads_unwritten = false;                           // a register that no instruction writes
  bool reading = false;                                   // wait_group.read
  bool increases = false;                                 // setmaxnreg.inc
  u32 number = 0;                                         // groups that may stay pending; registers
  std::vector<u32> reads, writes;                         // registers of the text
};

class Sites {
 public:
  explicit Sites(const Program& program);
  const Site& at(u32 site) const { return sites_[site]; }
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
