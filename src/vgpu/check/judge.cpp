// The judge's bookkeeping: warps, blocks and clusters as they come and go, every instruction as it runs, the report.
#include "vgpu/check/judge.hpp"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "vgpu/machine/access.hpp"

namespace wm::vgpu::check {

Judge::Judge(const Run& run) : run_(run), sites_(run.program), names_(run) {
  const Dim3& block = run.shape.block;
  warps_per_block_ = (block.x * block.y * block.z + lanes_per_warp - 1) / lanes_per_warp;
  blocks_.resize(std::size_t{run.shape.grid.x} * run.shape.grid.y * run.shape.grid.z);
  async_.resize(1);
  for (const Function& function : run.program.functions())
    for (u32 op = 0; op < function.ops.size(); ++op)
      multiplies_ |= sites_.at(sites_.of(function, op)).action == Action::matrix;
}

void Judge::cluster_starts(const Cluster& cluster) {
  for (const auto& block : cluster.blocks) {
    const u32 number = number_of(*block);
    auto& state = blocks_[number] = std::make_unique<BlockState>();
    state->shared = Shadow(shared_window + block->shared_base, block->shared.size());
    state->warps = std::vector<WarpState>(block->warps.size());
    for (const Warp& warp : block->warps) {
      WarpState& w = state->warps[warp.index()];
      w.number = number * warps_per_block_ + warp.index();
      w.clock = WarpClock(w.number, warp.started());
    }
  }
}

void Judge::cluster_ends(const Cluster& cluster) {
  check_bytes_left(cluster);
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
  stamp.strong = sites_.at(site).strong;
  return stamp;
}

FindingPlace Judge::place(const Stamp& stamp, std::string what) const {
  FindingPlace place = sites_.place(stamp.site);
  const u32 block = stamp.warp / warps_per_block_;
  const Dim3& grid = run_.shape.grid;
  place.block = {block % grid.x, block / grid.x % grid.y, block / grid.x / grid.y};
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
  running_warp_ = state_of(warp).number;
  if (!warp.resumed) ++executed_.instructions;
  if (site.aligned && site.first_op && !warp.resumed) check_aligned(warp, number, active);
  if (multiplies_ && site.first_op && !warp.resumed) check_registers(state_of(warp), warp, number);
  if (site.action == Action::warp_sync && !warp.resumed) gather_warp(warp, op, active);
  if (site.reads_unwritten)
    report("uninitialised-read", number, 0, [&](Finding& finding) {
      finding.message = "a register is read that no instruction writes";
      finding.help = "write it first; registers hold nothing when a kernel starts";
      finding.places = {place(stamp(warp, active, number), "reads it")};
    });
}

void Judge::executed(const Warp& warp, const Op&, u32 active, bool waits) {
  if (!doubtful_.empty()) settle_writes();
  for (const Learnt& learnt : learnt_) state_of(warp).clock.learn(learnt.lanes, learnt.clock);
  learnt_.clear();
  const u32 number = running_;
  const Site& site = sites_.at(number);
  if (site.action == Action::none || waits) return;
  WarpState& state = state_of(warp);
  switch (site.action) {
    case Action::fence:
    case Action::proxy_fence:
    case Action::init_fence:
    case Action::map_release:
    case Action::map_acquire: run_fence(warp, site, active); break;
    case Action::warp_sync: state.clock.meet(active, state.gathered_clock, state.gathered_pending); break;
    case Action::cluster_arrive: cluster_arrive(warp, active, site.relaxed); break;
    case Action::cluster_wait: cluster_wait(warp, active); break;
    case Action::copy_commit: commit(state.copies, active); break;
    case Action::bulk_commit: commit(state.bulk, active); break;
    case Action::copy_wait:
      if (site.instruction->modifiers.back() == "wait_all") commit(state.copies, active);
      wait_groups(state, state.copies, active, site.number, false);
      break;
    case Action::bulk_wait: wait_groups(state, state.bulk, active, site.number, site.reading); break;
    case Action::matrix_fence:
      state.fenced = true;
      std::fill(state.dirty.begin(), state.dirty.end(), 0);
      break;
    case Action::matrix_commit: ++state.products.open; break;
    case Action::matrix_wait: wait_products(warp, site.number); break;
    case Action::set_registers: set_registers(warp, number, active); break;
    case Action::none:
    case Action::matrix: break;
  }
}

// Lanes that have ended tell nobody anything; that a block has ended must come after what other blocks do with its
// shared memory.
void Judge::exits(const Warp& warp, u32 lanes) {
  WarpState& state = state_of(warp);
  BlockState& block = state_of(warp.block());
  block.exits.join(state.clock.snapshot(lanes));
  for (u32 left = lanes; left != 0; left &= left - 1) {
    const u64 at = state.aligned_at[std::countr_zero(left)] - state.aligned_begin;
    if (at < state.aligned.size()) divergent(warp, state.aligned[at].site, state.aligned[at].lanes, std::nullopt);
  }
  if (warp.block().live_threads > 0) return;
  check_warpgroups(warp.block());
  const auto visited = [&](const Stamp& visit) {
    report(fault::peer_exited, visit.site, 0, [&](Finding& finding) {
      const Dim3& id = warp.block().id;
      finding.message = "shared memory of another block is used, and nothing keeps that block from exiting first";
      finding.places = {place(visit, fmt::format("uses shared memory of block ({},{},{})", id.x, id.y, id.z))};
      finding.help = "every thread of the cluster runs barrier.cluster.arrive and .wait after the last such access";
    });
  };
  for (const auto& [visitor, visit] : block.visitors)
    if (!block.exits.covers_any(visit.warp, visit.lanes, visit.time, Known::control)) visited(visit);
  for (const u32 copy : block.arriving) {
    const AsyncWork& work = async_[copy];
    if (work.time == 0 || block.exits.time(async_line(work.line), Known::control) < work.time) visited(work.issue);
  }
}

namespace {
// What to do about an error that ended the run.
std::string help_for(const std::string& name) {
  static const std::map<std::string, std::string> help = {
      {fault::out_of_bounds, "compare the index with the size; the last block of a grid often reaches beyond it"},
      {fault::misaligned, "an access of n bytes needs a multiple of n; copies need 16 bytes, tensor tiles 128"},
      {fault::use_after_free, "free the memory after its last use, with a barrier between"},
      {fault::peer_exited,
       "every thread of the cluster runs barrier.cluster.arrive and .wait after the last such access"},
      {fault::partial_warpgroup, "all four warps of an aligned warpgroup execute it, all their lanes"},
      {fault::no_end, "look for a loop that waits for what never comes; --max-instructions allows more"},
  };
  const auto found = help.find(name);
  return found == help.end() ? std::string() : found->second;
}
}  // namespace

void Judge::faulted(const Fault& fault) {
  if (findings_.has(fault.finding)) return;
  Finding finding;
  finding.name = fault.finding;
  finding.message = fault.what_happened;
  finding.help = help_for(fault.finding);
  if (fault.function != nullptr) {
    finding.places = {sites_.place(sites_.of(*fault.function, fault.pc))};
    finding.places[0].block = fault.block;
    finding.places[0].warp = fault.warp;
  } else if (fault.finding == fault::no_end) {
    Stamp last;
    last.warp = running_warp_;
    last.site = running_;
    finding.places = {place(last, "was running")};
  }
  findings_.add(std::move(finding));
}

CheckReport Judge::take_report() {
  report_doubtful_reads();
  for (const auto& [site, access] : unwritten_reads_) {
    if (explained_reads_.contains(site)) continue;
    report("uninitialised-read", site, 0, [&](Finding& finding) {
      finding.message =
          fmt::format("{} memory is read that nobody has written", is_shared(access.address) ? "shared" : "global");
      finding.help = "write it first; memory holds nothing when a kernel starts";
      finding.places = {place(access.stamp, "reads " + names_.memory(access.address, access.bytes))};
    });
  }
  for (const auto* advices : {&conflicts_, &scattered_}) {
    const bool banks = advices == &conflicts_;
    for (const auto& [site, advice] : *advices) {
      if (advice.actual < 2 * advice.ideal) continue;
      Finding finding;
      finding.name = banks ? "bank-conflicts" : "uncoalesced";
      finding.severity = Severity::advice;
      finding.message =
          banks ? fmt::format("shared memory answers in {} turns where {} would do, {} accesses of warps together",
                              advice.actual, advice.ideal, advice.executed)
                : fmt::format(
                      "global memory moves {} sectors of 32 bytes where {} would do, {} accesses of warps "
                      "together",
                      advice.actual, advice.ideal, advice.executed);
      finding.help = banks ? "pad the rows, or swizzle them, so that lanes meet different banks"
                           : "let neighbouring lanes touch neighbouring addresses";
      finding.places = {sites_.place(site)};
      finding.count = advice.executed;
      findings_.add(std::move(finding));
    }
  }
  CheckReport report;
  report.findings = findings_.take();
  report.executed = executed_;
  return report;
}

}  // namespace wm::vgpu::check
