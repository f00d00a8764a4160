// The judge's bookkeeping: warps, blocks and clusters as they come and go, every instruction as it runs, the report.
#include "vgpu/check/judge.hpp"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "vgpu/machine/access.hpp"

namespace wm::vgpu::check {

Judge::Judge(const Run& run)
    : run_(run), sites_(run.program), names_(run), findings_(run.options.strict), overwritten_(run.memory) {
  const Dim3& block = run.shape.block;
  warps_per_block_ = (block.x * block.y * block.z + lanes_per_warp - 1) / lanes_per_warp;
  blocks_.resize(std::size_t{run.shape.grid.x} * run.shape.grid.y * run.shape.grid.z);
  async_.resize(1);
  for (const Function& function : run.program.functions())
    for (const Effect& effect : function.effects) {
      multiplies_ |= effect.kind == Effect::Kind::multiply;
      uses_tiles_ |= multiplies_ || (effect.kind == Effect::Kind::copy && effect.proxy == Proxy::async);
    }
}

void Judge::cluster_starts(const Cluster& cluster) {
  for (const auto& block : cluster.blocks) {
    const u32 number = number_of(*block);
    auto& state = blocks_[number] = std::make_unique<BlockState>();
    state->shared = Shadow(shared_window + block->shared_base, block->shared.size());
    state->warps = std::vector<WarpState>(block->warps.size());
    // What cooperative groups are lent begins as zeros.
    state->shared.for_each(shared_window + block->shared_base + shared_of_groups, shared_reserved - shared_of_groups,
                           true, [](Cell& cell, u64, u64) { cell.written = true; });
    for (const Warp& warp : block->warps) {
      WarpState& w = state->warps[warp.index()];
      w.number = number * warps_per_block_ + warp.index();
      w.clock = WarpClock(w.number, warp.started());
    }
  }
}

void Judge::cluster_ends(const Cluster& cluster) {
  check_bytes_left(cluster, true);
  note_rings(cluster);
  for (const auto& block : cluster.blocks) blocks_[number_of(*block)].reset();
}

u32 Judge::site_of(const Warp& warp, const Op& op) const { return sites_.of(*warp.function(), op); }

Stamp Judge::stamp(const Warp& warp, u32 lanes, u32 site) {
  const WarpState& state = state_of(warp);
  Stamp stamp;
  stamp.warp = state.number;
  stamp.lanes = lanes;
  stamp.time = state.clock.now();
  stamp.site = site;
  const Effect& effect = sites_.effect(site);
  stamp.strong = effect.kind == Effect::Kind::access && effect.strong();
  return stamp;
}

FindingPlace Judge::place(const Stamp& stamp, std::string what) const {
  FindingPlace place = sites_.place(stamp.site);
  place.block = id_of(stamp.warp / warps_per_block_);
  place.warp = stamp.warp % warps_per_block_;
  if (const auto role = roles_.find(stamp.warp); role != roles_.end()) place.role = role->second;
  place.what = std::move(what);
  return place;
}

void Judge::role_named(const Warp& warp, u32, const std::string& role) { roles_[state_of(warp).number] = role; }

void Judge::shared_named(const Warp&, const std::string& name, u64 address, u32 bytes, u32 count) {
  names_.name_shared(name, static_cast<u32>(address & shared_offset_mask), bytes, count);
}

void Judge::executes(const Warp& warp, const Op& op, u32 active) {
  const u32 number = running_ = site_of(warp, op);
  const Site& site = sites_.at(number);
  WarpState& state = state_of(warp);
  running_warp_ = state.number;
  running_lanes_ = active;
  ++executions_;
  if (!warp.resumed) ++executed_.instructions;
  const Effect& effect = *site.effect;
  if (effect.whole_warp && !warp.resumed) check_aligned(warp, number, active);
  if (multiplies_ && effect.first && !warp.resumed) check_registers(state, warp, number);
  if (!state.loaded.empty() && effect.first && !warp.resumed) note_use(warp, state, number);
  if (!state.unwritten.empty() && effect.first && !warp.resumed) follow_unwritten(state, warp, number, active);
  if (effect.kind == Effect::Kind::warp_sync && !warp.resumed) gather_warp(warp, op, active);
  if (effect.kind == Effect::Kind::register_budget && !warp.resumed) ask_for_registers(warp, number, active);
  if (site.reads_unwritten)
    findings_.report(Flaw::uninitialised_read, number, 0, [&](Finding& finding) {
      finding.message = "a register is read that no instruction writes";
      finding.help = "write it first; registers hold nothing when a kernel starts";
      finding.places = {place(stamp(warp, active, number), "reads it")};
    });
}

void Judge::executed(const Warp& warp, const Op& op, u32 active, bool waits) {
  if (!doubtful_.empty()) settle_writes();
  for (const Learnt& learnt : learnt_)
    state_of(warp).clock.change(learnt.lanes, [&](LaneClass& c) {
      c.clock.join(learnt.clock);
      c.pending.join(learnt.pending);
    });
  learnt_.clear();
  if (waits) return;
  const Effect& effect = sites_.effect(running_);
  if (effect.brings_together()) state_of(warp).clock.come_together(active);
  using Kind = Effect::Kind;
  switch (effect.kind) {
    case Kind::fence:
    case Kind::proxy_fence:
    case Kind::init_fence:
    case Kind::map_release:
    case Kind::map_acquire: return run_fence(warp, effect, active);
    case Kind::warp_sync: return meet_warp(warp, op, active);
    case Kind::cluster_arrive: return cluster_arrive(warp, active, effect.relaxed());
    case Kind::cluster_wait: return cluster_wait(warp, active);
    case Kind::commit: return commit(warp, effect.completion, active);
    case Kind::wait:
      if (effect.commits) commit(warp, effect.completion, active);
      return wait_groups(warp, effect, active);
    case Kind::multiply_fence: {
      WarpState& state = state_of(warp);
      state.fenced = true;
      std::fill(state.dirty.begin(), state.dirty.end(), 0);
      return;
    }
    case Kind::tensor_fence: return fence_tensor(warp, effect, active);
    default: return;
  }
}

// Lanes that have ended tell nobody anything; that a block has ended must come after what other blocks do with its
// shared memory.
void Judge::exits(const Warp& warp, u32 lanes) {
  WarpState& state = state_of(warp);
  BlockState& block = state_of(warp.block());
  block.exits.join(state.clock.snapshot(lanes));
  check_sources_read(warp, lanes);
  for (u32 left = lanes; left != 0; left &= left - 1) {
    const u64 at = state.aligned_at[std::countr_zero(left)] - state.aligned_begin;
    if (at < state.aligned.size()) divergent(warp, state.aligned[at].site, state.aligned[at].lanes, std::nullopt);
  }
  if (warp.block().live_threads > 0) return;
  check_warpgroups(warp.block());
  const auto visited = [&](const Stamp& visit) {
    findings_.report(Flaw::peer_exited, visit.site, 0, [&](Finding& finding) {
      const Dim3& id = warp.block().id;
      finding.message = "shared memory of another block is used, and nothing keeps that block from exiting first";
      finding.places = {place(visit, fmt::format("uses shared memory of block ({},{},{})", id.x, id.y, id.z))};
    });
  };
  for (const Stamp& visit : block.visitors)
    if (!block.exits.covers_any(visit.warp, visit.lanes, visit.time, Known::control)) visited(visit);
  for (const u32 copy : block.arriving) {
    const AsyncWork& work = async_[copy];
    if (work.time == 0 || block.exits.time(async_line(work.line), Known::control) < work.time) visited(work.issue);
  }
}

void Judge::out_of_bounds(const Fault& fault) { report_fault(fault, sites_.of(*fault.function, fault.pc)); }

void Judge::faulted(const Fault& fault) {
  if (!findings_.has(fault.finding)) report_fault(fault, 0);
}

void Judge::report_fault(const Fault& fault, u32 site) {
  findings_.report(fault.finding, site, 0, [&](Finding& finding) {
    finding.message = fault.what_happened;
    if (fault.finding == Flaw::out_of_bounds && fault.what_happened.starts_with("shared "))
      finding.help =
          "shared memory is what the kernel declares and the dynamic bytes that the launch asks for (`shared` in a "
          "case file): ask for more, or look at the index";
    if (fault.finding == Flaw::out_of_bounds && fault.what_happened.find("cannot be written") != std::string::npos)
      finding.help = "write to memory of the kernel's own, or let the caller give it some that is not for reading only";
    if (fault.function != nullptr) {
      finding.places = {sites_.place(sites_.of(*fault.function, fault.pc))};
      finding.places[0].block = fault.block;
      finding.places[0].warp = fault.warp;
    } else if (fault.finding == Flaw::no_end) {
      Stamp last;
      last.warp = running_warp_;
      last.site = running_;
      finding.places = {place(last, "was running")};
    }
  });
}

CheckReport Judge::take_report() {
  report_doubtful_reads();
  report_unwritten_reads();
  report_advice();
  report_rings();
  report_misaligned();
  CheckReport report;
  report.findings = findings_.take();
  report.executed = executed_;
  return report;
}

}  // namespace wm::vgpu::check
