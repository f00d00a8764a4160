// Work beside the threads: copies and their groups, fences between the proxies, wgmma with its registers.
#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "vgpu/check/judge.hpp"
#include "vgpu/machine/access.hpp"
#include "vgpu/machine/grid.hpp"

namespace wm::vgpu::check {

void Judge::commit(const Warp& warp, Completion groups, u32 lanes) {
  WarpState& state = state_of(warp);
  if (tensor_line_of(state, groups, 0) != nullptr) return;
  if (groups == Completion::products) {
    ++state.products.open;
    return;
  }
  auto& lines = groups == Completion::bulk_groups ? state.bulk : state.copies;
  for (u32 left = lanes; left != 0; left &= left - 1) ++lines[std::countr_zero(left)].open;
}

void Judge::wait_groups(const Warp& warp, const Effect& effect, u32 lanes) {
  if (effect.completion == Completion::products) return wait_products(warp, effect.count);
  if (effect.completion == Completion::tensor_loads || effect.completion == Completion::tensor_stores)
    return wait_tensor(warp, effect.completion);
  WarpState& state = state_of(warp);
  const bool generic = effect.completion == Completion::copy_groups;  // known as ordinary writes are, fences to come
  const auto& lines = generic ? state.copies : state.bulk;
  const u32 allowed = effect.count;
  for (u32 left = lanes; left != 0; left &= left - 1) {
    const u32 lane = static_cast<u32>(std::countr_zero(left));
    const GroupLine& line = lines[lane];
    if (line.id == 0 || line.open - 1 <= allowed) continue;
    const Times times = generic ? plainly(line.open - 1 - allowed) : in_every_way(line.open - 1 - allowed);
    Clock known;
    known.learn(async_line(line.id + 1), times);
    if (!effect.sources_only) known.learn(async_line(line.id), times);
    state.clock.learn(1u << lane, known);
  }
}

void Judge::run_fence(const Warp& warp, const Effect& effect, u32 lanes) {
  WarpState& state = state_of(warp);
  using Kind = Effect::Kind;
  switch (effect.kind) {
    case Kind::fence:
      if (effect.acquires()) state.clock.change(lanes, [&](LaneClass& c) { c.pending.take(effect.scope, c.clock); });
      if (!effect.releases()) return;
      for (const Scope scope : {Scope::block, Scope::cluster, Scope::device})
        if (scope <= effect.scope) state.clock.fence(lanes, fenced_at(scope));
      return;
    case Kind::proxy_fence:
      if (effect.space != AddressSpace::global) state.clock.fence(lanes, Known::shared_proxy);
      if (effect.space == AddressSpace::global || effect.space == AddressSpace::generic)
        state.clock.fence(lanes, Known::global_proxy);
      return;
    case Kind::init_fence: return state.clock.fence(lanes, Known::init);
    case Kind::map_release: return state.clock.fence(lanes, Known::map_released);
    case Kind::map_acquire: return state.clock.acquire_maps(lanes);
    default: return;
  }
}

namespace {
bool reads_shared(const Footprint& reads) {
  return (!reads.pages().empty() && is_shared(reads.pages()[0].address)) ||
         (!reads.parts().empty() && is_shared(reads.parts()[0].address));
}
}  // namespace

// Threads that end: have their bulk copies read what they store? Nobody else can wait for that.
void Judge::check_sources_read(const Warp& warp, u32 lanes) {
  const WarpState& state = state_of(warp);
  for (u32 left = lanes; left != 0; left &= left - 1) {
    const u32 lane = static_cast<u32>(std::countr_zero(left));
    if (state.bulk[lane].source == 0) continue;
    const AsyncWork& copy = async_[state.bulk[lane].source];
    const u32 known = state.clock.of_lane(lane).clock.time(async_line(copy.source_line), Known::reads);
    if (known >= copy.source_time) continue;
    findings_.report(
        Flaw::copy_in_flight_at_exit, Omission::wait_before_exit, copy.issue.site, 0, [&](Finding& finding) {
          finding.places = {place(copy.issue, "reads shared memory; its thread exits without a wait for it")};
        });
  }
}

u64 Judge::copy_issued(const Warp& warp, u32 lane, const CopyIssue& issue) {
  WarpState& state = state_of(warp);
  const u32 site = running_;
  const u32 number = static_cast<u32>(async_.size());
  const Effect& effect = sites_.effect(site);
  const Stamp me = stamp(warp, effect.whole_warp ? warp.started() : 1u << lane, site);
  AsyncWork work;
  work.issue = me;
  work.signals = effect.completion == Completion::mbarrier;
  work.generic = effect.proxy == Proxy::generic;
  work.from_peer = work.generic && work.signals && issue.barrier >> shared_rank_shift != warp.block().rank;
  work.bytes = issue.writes.bytes();
  work.barrier = issue.barrier;
  work.layout = issue.layout;
  work.tile = issue.tile & shared_offset_mask;
  if (work.signals) work.clock = state.clock.release(1u << lane).only({Known::control});
  if (GroupLine* const line = tensor_line_of(state, effect.completion, lane)) {
    if (line->id == 0) line->id = new_line() | tensor_line;
    line->follows = true;
    work.tensor = true;
    work.line = work.source_line = line->id;
    work.time = work.source_time = line->open;
    if (effect.completion == Completion::tensor_loads) note_loaded(warp, state, number);
  } else if (!work.signals) {
    auto& lines = effect.completion == Completion::bulk_groups ? state.bulk : state.copies;
    GroupLine& line = lines[lane];
    if (line.id == 0) line.id = new_line();
    work.line = line.id;
    work.source_line = line.id + 1;
    work.time = work.source_time = line.open;
    if (effect.completion == Completion::bulk_groups && reads_shared(issue.reads)) line.source = number;
  }
  ++executed_.copies;
  executed_.copied_bytes += work.bytes;
  async_.push_back(std::move(work));
  async_[number].twin = twin_of(state, lane, number, issue);

  if (issue.barrier != 0)
    if (Mbarrier* barrier = find_mbarrier(warp.cluster(), issue.barrier)) {
      check_init_visible(warp, lane, issue.barrier, *barrier, me, effect.proxy == Proxy::async);
      barrier->under_way[number] = static_cast<u32>(async_[number].bytes);
      joins_circle(*barrier, me.warp);
    }
  if (issue.map != 0) check_map(warp, lane, issue, me);

  Actor actor{warp, state.clock.of_lane(lane), me};
  actor.stamp.async = number;
  actor.async_proxy = effect.proxy == Proxy::async;
  actor.reads = true;
  if (issue.layout.row_bytes != 0) actor.layout = &issue.layout;
  check_footprint(actor, issue.reads);
  actor.layout = nullptr;
  if (effect.completion == Completion::tensor_products) check_equal_maps(actor, issue.reads);
  actor.reads = false;
  actor.writes = true;
  actor.stamp.strong = effect.atomic;
  check_footprint(actor, issue.writes);
  return number;
}

// A map that this kernel wrote must have been released by its writer and acquired by this thread.
void Judge::check_map(const Warp& warp, u32 lane, const CopyIssue& issue, const Stamp& me) {
  const u64 map = issue.map;
  if (!is_shared(map) && !is_global(map)) return;
  const Actor actor{warp, state_of(warp).clock.of_lane(lane), me};
  const auto check = [&](Cell& cell, u64, u64) {
    const Stamp& write = cell.write;
    if (!write.exists() || write.async != 0) return;
    if (ordered(actor, write, Known::map_acquired)) return;
    findings_.report(Flaw::stale_tensor_map, me.site, 0, [&](Finding& finding) {
      finding.message = "a copy uses a tensor map that this kernel changed, without the fences that make it visible";
      finding.places = {place(me, "copies through the map"), place(write, "changed it")};
    });
  };
  if (Shadow* const shadow = shadow_of(actor, map)) shadow->for_each(map, issue.map_bytes, false, check);
}

// ---- wgmma ----

void Judge::multiply_issued(const Warp& warp, const Op& op, const MatrixReads& issue) {
  WarpState& state = state_of(warp);
  const u32 number = site_of(warp, op);
  const Stamp me = stamp(warp, warp.started(), number);
  ++executed_.products;
  state.multiplies.count += lanes_per_warp;
  state.multiplies.last = me;
  auto& products = state_of(warp.block()).products[warp.index() / warps_per_group];
  if (products.line == 0) products.line = new_line();
  if (state.products.id != state.products.open) {  // the first of its group
    state.products.id = state.products.open;
    Clock issued = state.clock.release(warp.started());
    issued.promote(Known::data, Known::relied);
    products.issued[state.products.open].join(issued.only({Known::control, Known::relied}));
  } else {
    state.clock.tick();
  }
  // The four warps' shares of an instruction are one piece of work.
  u32& work_number = products.works[{state.products.open, number}];
  if (work_number == 0) {
    work_number = static_cast<u32>(async_.size());
    AsyncWork work;
    work.issue = me;
    work.matrix = true;
    work.line = work.source_line = products.line;
    work.time = work.source_time = state.products.open;
    async_.push_back(std::move(work));
  }
  async_[work_number].shares[warp.index() % warps_per_group] = me.time;

  Actor actor{warp, state.clock.of_lane(0), me};
  actor.stamp.async = work_number;
  actor.async_proxy = true;
  actor.reads = true;
  for (const auto& operand : issue.operands) {
    actor.layout = &operand.layout;
    actor.after = 0;
    check_footprint(actor, operand.reads);
  }

  // Its registers: D in flight until its wait, A until then not to be written.
  const auto each = [&](std::span<const u32> registers, bool sum) {
    for (const u32 reg : registers) {
      const u32 dirt = state.dirty[reg];
      if ((!sum || issue.accumulates) && (!state.fenced || dirt != 0)) missing_matrix_fence(state, me, dirt);
      state.in_flight[reg] = {state.products.open, number, sum};
    }
  };
  state.dirty.resize(std::max(state.dirty.size(), warp.function()->source->registers.size()));
  state.in_flight.resize(state.dirty.size());
  each(issue.sums, true);
  each(issue.factors, false);
}

void Judge::missing_matrix_fence(const WarpState& state, const Stamp& me, u32 dirt) {
  findings_.report(Flaw::missing_wgmma_fence, me.site, 0, [&](Finding& finding) {
    finding.message = state.fenced
                          ? "a wgmma uses registers that ordinary instructions wrote after the last wgmma.fence"
                          : "a wgmma with no wgmma.fence before it";
    finding.places = {place(me, "uses them")};
    if (dirt == 0) return;
    Stamp write = me;
    write.site = dirt - 1;
    finding.places.push_back(place(write, "writes one of them"));
  });
}

// Every instruction of a kernel that multiplies: does it touch what a wgmma holds?
void Judge::check_registers(WarpState& state, const Warp& warp, u32 number) {
  const Site& site = sites_.at(number);
  const std::size_t count = warp.function()->source->registers.size();
  if (state.dirty.size() < count) {
    state.dirty.resize(count);
    state.in_flight.resize(count);
  }
  if (site.instruction->kind == Effect::Kind::multiply) return;
  const bool copies = site.instruction->kind == Effect::Kind::move;
  const auto& awaits = site.function->awaits;
  const bool awaited = !awaits.empty() && awaits[site.index];
  const auto complain = [&](const WarpState::InFlight& flight, const char* what) {
    const bool right = flight.sum && (awaited || flight.awaited);
    const auto omission = right ? std::optional(Omission::wait_for_product) : std::nullopt;
    findings_.report(Flaw::register_in_flight, omission, number, flight.site, [&](Finding& finding) {
      finding.message = flight.sum ? "an accumulator of a wgmma is touched before the wait for it"
                                   : "a register that a wgmma reads is written before the wait for it";
      const Stamp me = stamp(warp, warp.started(), number);
      Stamp product = me;
      product.site = flight.site;
      finding.places = {place(me, what), place(product, flight.sum ? "writes it" : "reads it")};
    });
  };
  // The compiler's copies of a value from register to register are no accesses yet: what is in flight stays so.
  WarpState::InFlight moved;
  u32 dirt = copies ? 0 : number + 1;
  for (const u32 reg : site.function->touched.reads(site.index)) {
    const WarpState::InFlight& flight = state.in_flight[reg];
    if (flight.group != 0 && flight.sum) {
      if (copies) {
        moved = flight;
        moved.awaited |= awaited;
      } else {
        complain(flight, "reads it");
      }
    }
    if (copies) dirt = std::max(dirt, state.dirty[reg]);
  }
  if (copies && !state.fenced) dirt = number + 1;
  for (const u32 reg : site.function->touched.writes(site.index)) {
    const WarpState::InFlight& flight = state.in_flight[reg];
    if (flight.group != 0 && moved.group == 0) complain(flight, "writes it");
    state.in_flight[reg] = moved;
    state.dirty[reg] = dirt;
  }
}

void Judge::wait_products(const Warp& warp, u32 allowed) {
  WarpState& state = state_of(warp);
  auto& products = state_of(warp.block()).products[warp.index() / warps_per_group];
  if (products.line == 0 || state.products.open - 1 <= allowed) return;
  const u32 done = state.products.open - 1 - allowed;
  for (auto& flight : state.in_flight)
    if (flight.group != 0 && flight.group <= done) flight = {};
  Clock known;
  known.learn(async_line(products.line), in_every_way(done));
  known.learn(whole_warp(state.number), only_as(Known::relied, state.clock.now()));  // all lanes have come to the wait
  constexpr u32 kept = 16;  // groups that a slower warp of the four may still wait for
  while (!products.issued.empty() && products.issued.begin()->first + kept < done)
    products.issued.erase(products.issued.begin());
  while (!products.works.empty() && products.works.begin()->first.first + kept < done)
    products.works.erase(products.works.begin());
  for (auto issued = products.issued.upper_bound(state.products.known);
       issued != products.issued.end() && issued->first <= done; ++issued)
    known.join(issued->second);
  state.products.known = std::max(state.products.known, done);
  state.clock.learn(state.clock.started(), known);
}

// ---- instructions of whole warpgroups ----

// Called when the block has ended or nobody can go on: by then all four warps have run what one of them has.
void Judge::check_warpgroups(const Block& block) {
  for (std::size_t first = 0; first < block.warps.size(); first += warps_per_group) {
    for (auto what : {&WarpState::budgets, &WarpState::multiplies}) {
      u32 most = 0, least = ~0u;
      Stamp last;
      for (std::size_t w = first; w < std::min<std::size_t>(first + warps_per_group, block.warps.size()); ++w) {
        const WarpState& state = state_of(block.warps[w]);
        least = std::min(least, (state.*what).count);
        if ((state.*what).count > most) {
          most = (state.*what).count;
          last = (state.*what).last;
        }
      }
      if (most == least) continue;
      findings_.report(Flaw::partial_warpgroup, last.site, 0, [&](Finding& finding) {
        finding.places = {place(last, fmt::format("executed {} times by one warp and {} times by another",
                                                  most / lanes_per_warp, least / lanes_per_warp))};
      });
    }
  }
}

void Judge::ask_for_registers(const Warp& warp, u32 number, u32 lanes) {
  WarpState& state = state_of(warp);
  state.budgets.count += static_cast<u32>(std::popcount(lanes));
  state.budgets.last = stamp(warp, warp.started(), number);
}

// Of a block that stands still: whether threads wait for registers, which nobody is left to give back.
void Judge::check_register_budget(const Block& block) {
  struct Role {  // neighbouring warps
    u32 warps = 0, registers = 0;
  };
  std::vector<Role> roles;
  const Warp* greediest = nullptr;
  std::pair<u32, bool> most{};         // what it asks for, and whether it waits
  std::map<u32, const Warp*> waiting;  // by site
  for (const Warp& warp : block.warps) {
    const auto& budgets = state_of(warp).budgets;
    std::pair<u32, bool> asks{warp.registers, false};
    for (const Part& part : warp.parts())
      if (part.wait.kind == WaitKind::registers) {
        asks = {part.wait.index, true};
        waiting.try_emplace(budgets.last.site, &warp);
      }
    if (budgets.count > 0 && asks > most) {
      most = asks;
      greediest = &warp;
    }
    if (roles.empty() || roles.back().registers != asks.first) roles.push_back({0, asks.first});
    ++roles.back().warps;
  }
  if (waiting.empty()) return;
  const Stamp& last = state_of(*greediest).budgets.last;
  findings_.report(Flaw::register_budget, last.site, 0, [&](Finding& finding) {
    std::string terms;
    u64 sum = 0;
    for (const Role& role : roles) {
      const u64 threads = u64{role.warps} * lanes_per_warp;
      terms += fmt::format("{}{} x {}", terms.empty() ? "" : " + ", threads, role.registers);
      sum += threads * role.registers;
    }
    const u64 threads = block.warps.size() * lanes_per_warp;
    finding.message = fmt::format("the threads of a block ask for {} = {} registers; it started with {} x {} = {}",
                                  terms, sum, threads, run_.registers, threads * run_.registers);
    finding.places = {place(last, fmt::format("asks for {} a thread", most.first))};
    for (const auto& [site, warp] : waiting)
      if (site != last.site) finding.places.push_back(place(state_of(*warp).budgets.last, "waits for its own"));
  });
}

}  // namespace wm::vgpu::check
