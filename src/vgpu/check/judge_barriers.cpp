// Meeting and waiting: barriers of warps, blocks and clusters, and mbarriers with their phases, bytes and misuse.
#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "vgpu/check/judge.hpp"
#include "vgpu/isa/mbarrier.hpp"
#include "vgpu/memory/access.hpp"

namespace wm::vgpu::check {

Judge::Meeting& Judge::meeting(Meetings& meetings, u64 generation) {
  Meeting& m = meetings[generation % meetings.size()];
  if (m.generation != generation) m = {generation, {}, {}};
  return m;
}

// ---- lanes of a warp ----

void Judge::gather_warp(const Warp& warp, const Op& op, u32 lanes) {
  WarpState& state = state_of(warp);
  const u32 named = warp.source32(op.a)[std::countr_zero(lanes)];
  state.warp_meeting.pending.join(state.clock.pending(lanes));
  state.warp_meeting.clock.join(state.clock.release(lanes));
  state.gathered |= lanes;
  if ((named & warp.live() & ~state.gathered) != 0) return;
  state.gathered_clock = std::exchange(state.warp_meeting.clock, {});
  state.gathered_pending = std::exchange(state.warp_meeting.pending, {});
  // Who met as a whole is known as a whole.
  if ((state.clock.started() & ~state.gathered) == 0) {
    state.gathered_clock.learn(whole_warp(state.number), plainly(state.clock.now() - 1));
  }
  state.gathered = 0;
}

// The lanes' sequences of .aligned instructions must be the same.
void Judge::check_aligned(const Warp& warp, u32 site, u32 lanes) {
  WarpState& state = state_of(warp);
  for (u32 left = lanes; left != 0; left &= left - 1) {
    const u32 lane = static_cast<u32>(std::countr_zero(left));
    const u64 at = state.aligned_at[lane]++ - state.aligned_begin;
    if (at >= state.aligned.size()) {
      if (warp.live() != warp.started()) divergent(warp, site, lanes, std::nullopt);
      state.aligned.push_back({site, 1u << lane});
    } else {
      if (state.aligned[at].site != site) divergent(warp, site, lanes, state.aligned[at].site);
      state.aligned[at].lanes |= 1u << lane;
    }
  }
  while (!state.aligned.empty() && (warp.live() & ~state.aligned.front().lanes) == 0) {
    state.aligned.pop_front();
    ++state.aligned_begin;
  }
}

void Judge::divergent(const Warp& warp, u32 site, u32 lanes, std::optional<u32> other_site) {
  if (!findings_.is_new("divergent-aligned", site, other_site.value_or(0))) return;
  Finding finding;
  finding.name = "divergent-aligned";
  finding.message = other_site ? "lanes of one warp execute different .aligned instructions where they must be together"
                               : "an .aligned instruction is not executed by the lanes of its warp that have exited";
  finding.help = "bring the whole warp to one such instruction, or use the form without .aligned where there is one";
  finding.places = {place(stamp(warp, lanes, site), fmt::format("by lanes {:#010x}", lanes))};
  if (other_site) finding.places.push_back(place(stamp(warp, ~lanes & warp.live(), *other_site), "by other lanes"));
  findings_.add(std::move(finding));
}

// ---- blocks and clusters ----

void Judge::barrier_arrives(const Warp& warp, u32 lanes, u32 barrier, u32 threads, bool waits) {
  ++executed_.barriers;
  WarpState& state = state_of(warp);
  BlockState& block = state_of(warp.block());
  const NamedBarrier& now = warp.block().barriers[barrier];
  const Stamp me = stamp(warp, lanes, running_);
  if (now.arrived > 0 && threads != 0 && now.expected != 0 && now.expected != threads &&
      findings_.is_new(fault::barrier_count_mismatch, me.site, block.last_arrival[barrier].site)) {
    Finding finding;
    finding.name = fault::barrier_count_mismatch;
    finding.message = fmt::format("barrier {} is used with {} threads and, in the same phase, with {}", barrier,
                                  threads, now.expected);
    finding.help = "all that meet at a barrier name the same number of threads: those that sync and those that arrive";
    finding.places = {place(me, fmt::format("says {}", threads)),
                      place(block.last_arrival[barrier], fmt::format("said {}", now.expected))};
    findings_.add(std::move(finding));
  }
  block.last_arrival[barrier] = me;
  Meeting& m = meeting(block.barriers[barrier], now.generation);
  m.pending.join(state.clock.pending(lanes));
  m.clock.join(state.clock.release(lanes));
  if (waits)
    for (u32 left = lanes; left != 0; left &= left - 1)
      state.barrier_generation[std::countr_zero(left)] = now.generation;
}

void Judge::barrier_passes(const Warp& warp, u32 lanes, u32 barrier) {
  WarpState& state = state_of(warp);
  const Meeting& m =
      meeting(state_of(warp.block()).barriers[barrier], state.barrier_generation[std::countr_zero(lanes)]);
  state.clock.meet(lanes, m.clock, m.pending);
}

void Judge::cluster_arrive(const Warp& warp, u32 lanes, bool relaxed) {
  ++executed_.barriers;
  WarpState& state = state_of(warp);
  // The last arrival has ended the phase already, so the machine's parity tells which one these lanes arrived in.
  const u64 now = warp.cluster().barrier.generation;
  for (u32 left = lanes; left != 0; left &= left - 1) {
    const u32 lane = static_cast<u32>(std::countr_zero(left));
    state.cluster_generation[lane] = (now & 1) == (warp.cluster_parity >> lane & 1) ? now : now - 1;
  }
  Meeting& m = meeting(cluster_meetings(warp.cluster()), state.cluster_generation[std::countr_zero(lanes)]);
  const Clock message = state.clock.release(lanes);
  if (!relaxed) m.pending.join(state.clock.pending(lanes));
  m.clock.join(relaxed ? message.only({Known::control, Known::init}) : message);
}

void Judge::cluster_wait(const Warp& warp, u32 lanes) {
  WarpState& state = state_of(warp);
  const Meeting& m = meeting(cluster_meetings(warp.cluster()), state.cluster_generation[std::countr_zero(lanes)]);
  state.clock.meet(lanes, m.clock, m.pending);
}

// ---- mbarriers ----

Judge::Mbarrier* Judge::find_mbarrier(const Cluster& cluster, u64 address) {
  const u64 rank = address >> shared_rank_shift;
  if (rank >= cluster.blocks.size()) return nullptr;
  auto& barriers = state_of(*cluster.blocks[rank]).mbarriers;
  const auto found = barriers.find(address & shared_offset_mask);
  return found == barriers.end() || !found->second.valid ? nullptr : &found->second;
}

void Judge::check_init_visible(const Warp& warp, u32 lane, u64 address, Mbarrier& barrier, const Stamp& use,
                               bool by_copy) {
  const WarpState& state = state_of(warp);
  const LaneClass& me = state.clock.of_lane(lane);
  const Stamp& init = barrier.init;
  const auto knows = [&](Known way) {
    if (init.warp == state.number && init.lanes == 1u << lane && of(me.own, way) >= init.time) return true;
    return me.clock.covers(init.warp, init.lanes, init.time, way);
  };
  const bool own = init.warp == state.number && init.lanes == 1u << lane;
  const bool data = own || knows(Known::data);
  const bool fenced = knows(Known::init) || knows(Known::shared_proxy);
  if (by_copy ? fenced : data || fenced) return;
  const bool happened = own || knows(Known::control);
  if (!happened && barrier.again) return reinitialised(init, address, use);
  Finding finding;
  finding.name = happened ? "barrier-init-not-visible" : fault::barrier_not_initialised;
  if (!findings_.is_new(finding.name, use.site, init.site)) return;
  finding.message =
      !happened ? fmt::format("{} is used, and nothing orders this after its initialisation", names_.mbarrier(address))
      : by_copy ? fmt::format("a copy signals {}, whose initialisation no fence made visible to copies",
                              names_.mbarrier(address))
                : fmt::format("{} is used from another block, and no fence made its initialisation visible there",
                              names_.mbarrier(address));
  finding.help = happened ? "the initialising thread runs fence.mbarrier_init.release.cluster before the barrier that "
                            "lets the others go"
                          : "a barrier between mbarrier.init and the first use";
  finding.places = {place(use, "uses it"), place(init, "initialises it")};
  findings_.add(std::move(finding));
}

void Judge::reinitialised(const Stamp& init, u64 address, const Stamp& use) {
  if (!findings_.is_new("barrier-reinitialised", init.site, use.site)) return;
  Finding finding;
  finding.name = "barrier-reinitialised";
  finding.message = fmt::format("{} is initialised again while a thread may still use it", names_.mbarrier(address));
  finding.help = "a barrier between the last use and the new initialisation";
  finding.places = {place(init, "initialises it again"), place(use, "uses it")};
  findings_.add(std::move(finding));
}

void Judge::initialise(const Warp& warp, u32 lane, u64 address, const MbarrierUse& use, const Stamp& me) {
  const Block& block = *warp.cluster().blocks[address >> shared_rank_shift];
  Mbarrier& barrier = state_of(block).mbarriers[address & shared_offset_mask];
  if (barrier.valid) {
    WarpState& state = state_of(warp);
    Actor actor{warp, state.clock.of_lane(lane), me};
    const auto in_use = [&](const auto& user) { return !ordered(actor, user.second, Known::reads); };
    const auto user = std::find_if(barrier.users.begin(), barrier.users.end(), in_use);
    if (user != barrier.users.end()) reinitialised(me, address, user->second);
  }
  const bool again = barrier.valid;
  barrier = {};
  barrier.again = again;
  barrier.address = address;
  barrier.id = new_line();
  barrier.init = me;
  barrier.valid = true;
  barrier.expected = barrier.pending = use.count;
}

void Judge::uses_mbarrier(const Warp& warp, const Op& op, u32 lanes, const MbarrierUse& use) {
  using Kind = MbarrierUse::Kind;
  const u32 number = site_of(warp, op);
  const Site& site = sites_.at(number);
  const Stamp me = stamp(warp, lanes, number);
  const u32 lane = static_cast<u32>(std::countr_zero(lanes));
  const u64 rank = use.address >> shared_rank_shift;
  if (rank >= warp.cluster().blocks.size()) return;
  const Block& owner = *warp.cluster().blocks[rank];
  if (&owner != &warp.block()) remember_visit(owner, me);
  if (use.kind == Kind::init) return initialise(warp, lane, use.address, use, me);
  Mbarrier* barrier = find_mbarrier(warp.cluster(), use.address);
  if (barrier == nullptr) {
    if (!findings_.is_new(fault::barrier_not_initialised, number, 0)) return;
    Finding finding;
    finding.name = fault::barrier_not_initialised;
    finding.message = fmt::format("{} is used and has not been initialised", names_.mbarrier(use.address));
    finding.help = "one thread runs mbarrier.init, then a barrier, before anybody uses it";
    finding.places = {place(me, "uses it")};
    findings_.add(std::move(finding));
    return;
  }
  // Clocks only grow: who was seen to be ordered after the initialisation stays so.
  const auto [user, first] = barrier->users.try_emplace({me.warp, lanes}, me);
  if (first)
    for (u32 left = lanes; left != 0; left &= left - 1)
      check_init_visible(warp, static_cast<u32>(std::countr_zero(left)), use.address, *barrier, me, false);
  user->second = me;

  switch (use.kind) {
    case Kind::invalidate: barrier->valid = false; return;
    case Kind::wait: return wait(*barrier, use, me, site.relaxed);
    case Kind::expect:
      barrier->bytes += use.bytes;
      barrier->expectation = me;
      return turn(*barrier);
    case Kind::complete: barrier->bytes -= use.bytes; return turn(*barrier);
    case Kind::arrive: break;
    case Kind::init: return;
  }
  ++executed_.barriers;
  if (use.count > barrier->pending && findings_.is_new(fault::barrier_overrun, number, 0)) {
    Finding finding;
    finding.name = fault::barrier_overrun;
    finding.message =
        fmt::format("{} arrival{} at {}, which expects {} in this phase{}", use.count, use.count == 1 ? "" : "s",
                    names_.mbarrier(use.address), barrier->pending, barrier->bytes != 0 ? " and waits for bytes" : "");
    finding.help = "initialise it with the number of threads that arrive, or let fewer arrive";
    finding.places = {place(me, "arrives"),
                      place(barrier->last_arrival.exists() ? barrier->last_arrival : barrier->init,
                            barrier->last_arrival.exists() ? "arrived before" : "initialised it")};
    findings_.add(std::move(finding));
  }
  if (use.bytes != 0) {
    barrier->bytes += use.bytes;
    barrier->expectation = me;
  }
  WarpState& state = state_of(warp);
  Clock message = state.clock.release(lanes);
  const bool remote = &owner != &warp.block();
  if (site.relaxed)
    message = message.only({Known::control});
  else if (remote && site.scope == Scope::block)
    message = message.only({Known::reads, Known::control});
  if (use.drop) barrier->expected -= std::min(use.count, barrier->expected);
  arrive(*barrier, use.count, message, me);
}

void Judge::arrive(Mbarrier& barrier, u32 count, const Clock& message, const Stamp& me) {
  barrier.arriving.join(message);
  barrier.last_arrival = barrier.arrivals[me.warp] = me;
  barrier.pending -= std::min(count, barrier.pending);
  turn(barrier);
}

// Ends the phase if all of it has come.
void Judge::turn(Mbarrier& barrier) {
  if (barrier.pending != 0 || barrier.bytes != 0) return;
  for (const auto& [copy, left] : barrier.under_way) {
    const AsyncWork& work = async_[copy];
    if (left == work.bytes || !findings_.is_new("wrong-byte-count", barrier.expectation.site, work.issue.site))
      continue;
    Finding finding;
    finding.name = "wrong-byte-count";
    finding.message = fmt::format("a phase of {} ends in the middle of a copy: {} of its {} bytes are still to come",
                                  names_.mbarrier(barrier.address), left, work.bytes);
    finding.help = "announce as many bytes as the phase's copies bring; a box counts whole, also beyond the tensor";
    finding.places = {place(barrier.expectation, "announces bytes"),
                      place(work.issue, fmt::format("brings {} bytes", work.bytes))};
    findings_.add(std::move(finding));
  }
  // Who waited for the phase before must have been seen to do so by somebody who takes part in this one.
  const auto known = [&](const Stamp& wait) {
    return barrier.arriving.covers_any(wait.warp, wait.lanes, wait.time, Known::control);
  };
  for (const Stamp& seen : barrier.waits) {
    const bool by_a_lane = std::any_of(barrier.waits.begin(), barrier.waits.end(),
                                       [&](const Stamp& wait) { return wait.warp == seen.warp && known(wait); });
    if (by_a_lane || !findings_.is_new("missed-phase", seen.site, barrier.last_arrival.site)) continue;
    Finding finding;
    finding.name = "missed-phase";
    finding.message = fmt::format("a phase of {} can end, and the next one too, before this waiter looks",
                                  names_.mbarrier(barrier.address));
    finding.help = "the thread that completes the next phase first waits for word that this one was seen";
    finding.places = {place(seen, fmt::format("waits for the end of phase {}", i64{barrier.phase} - 1)),
                      place(barrier.last_arrival, fmt::format("may end phase {} first", barrier.phase))};
    findings_.add(std::move(finding));
  }
  const bool unseen = barrier.waits.empty() && barrier.phase > 0;
  barrier.missed_end = unseen ? barrier.last_arrival : Stamp{};
  barrier.waits.clear();
  ++barrier.phase;
  barrier.pending = barrier.expected;
  barrier.done = barrier.arriving;
  barrier.done.learn(async_line(barrier.id), in_every_way(barrier.phase));
  barrier.arriving = barrier.done;
}

void Judge::wait(Mbarrier& barrier, const MbarrierUse& use, const Stamp& me, bool relaxed) {
  if (!use.done) {
    // It asks for the parity of the phase that goes on. Were the last two ends seen by nobody, it has missed them.
    if (barrier.missed_end.exists() && findings_.is_new("missed-phase", me.site, barrier.missed_end.site)) {
      Finding finding;
      finding.name = "missed-phase";
      finding.message = "this waiter looks when the phase it waits for, and the next one too, are over";
      finding.help = "the thread that completes the next phase first waits for word that this one was seen";
      finding.places = {place(me, "waits"), place(barrier.missed_end, "ended the phase after")};
      findings_.add(std::move(finding));
    }
    return;
  }
  const auto same = std::find_if(barrier.waits.begin(), barrier.waits.end(), [&](const Stamp& seen) {
    return seen.warp == me.warp && seen.time == me.time && seen.site == me.site;
  });
  if (same == barrier.waits.end())
    barrier.waits.push_back(me);
  else
    same->lanes |= me.lanes;
  barrier.missed_end = {};
  if (relaxed) return;
  if (learnt_.empty() || learnt_.back().barrier != barrier.id) learnt_.push_back({barrier.id, 0, barrier.done});
  learnt_.back().lanes |= me.lanes;
}

u64 Judge::arrival_issued(const Warp& warp, u32 lane, u64 address, bool increments) {
  Mbarrier* barrier = find_mbarrier(warp.cluster(), address);
  WarpState& state = state_of(warp);
  const u64 number = ++arrivals_issued_;
  Clock message = state.clock.release(1u << lane);
  const GroupLine& line = state.copies[lane];
  if (line.id != 0) {
    // When it arrives, all copies so far are done: also those of the group that is still open.
    message.learn(async_line(line.id), plainly(line.open));
  }
  arrivals_[number] = std::move(message);
  if (barrier != nullptr && increments) ++barrier->pending;
  if (barrier != nullptr) check_init_visible(warp, lane, address, *barrier, stamp(warp, 1u << lane, running_), false);
  arrival_stamps_[number] = stamp(warp, 1u << lane, running_);
  return number;
}

void Judge::arrival_arrives(const Cluster& cluster, u64 address, u64 arrival) {
  Mbarrier* barrier = find_mbarrier(cluster, address);
  if (barrier == nullptr) return;
  arrive(*barrier, 1, arrivals_[arrival], arrival_stamps_[arrival]);
  arrivals_.erase(arrival);
  arrival_stamps_.erase(arrival);
}

void Judge::bytes_arrive(const Cluster& cluster, u64 address, u32 bytes, u64 copy) {
  Mbarrier* barrier = find_mbarrier(cluster, address);
  if (barrier == nullptr || copy == 0) return;
  AsyncWork& work = async_[copy];
  u32& left = barrier->under_way[copy];
  left -= std::min(left, bytes);
  barrier->bytes -= bytes;
  barrier->copy = work.issue;
  // What the copy was ordered after has happened.
  barrier->arriving.join(work.clock);
  work.line = barrier->id;
  if (left == 0) {
    barrier->under_way.erase(copy);
    work.clock = {};
    work.time = work.source_time = barrier->phase + 1;
    work.source_line = work.line;
  }
  turn(*barrier);
}

void Judge::check_bytes_left(const Cluster& cluster) {
  for (const auto& block : cluster.blocks)
    for (auto& [offset, barrier] : state_of(*block).mbarriers) {
      if (!barrier.valid || barrier.bytes == 0) continue;
      const Stamp& announced = barrier.expectation.exists() ? barrier.expectation : barrier.init;
      if (!findings_.is_new("wrong-byte-count", announced.site, barrier.copy.site)) continue;
      Finding finding;
      finding.name = "wrong-byte-count";
      finding.message = barrier.bytes > 0 ? fmt::format("{} was told of {} bytes more than its copies brought",
                                                        names_.mbarrier(offset), barrier.bytes)
                                          : fmt::format("copies brought {} {} bytes more than it was told of",
                                                        names_.mbarrier(offset), -barrier.bytes);
      finding.help = "announce as many bytes as the phase's copies bring; a box counts whole, also beyond the tensor";
      finding.places = {place(announced, "announces bytes")};
      if (barrier.copy.exists()) finding.places.push_back(place(barrier.copy, "brings bytes"));
      findings_.add(std::move(finding));
    }
}

// ---- nobody can go on ----

// Who has arrived there before, and what keeps them from it now.
std::string Judge::why_pending(const Cluster& cluster, const Mbarrier& barrier) {
  if (barrier.arrivals.empty()) return "; nobody has ever arrived at it";
  std::string text = "; it was last arrived at by";
  const char* comma = "";
  for (const auto& [number, arrival] : barrier.arrivals) {
    bool waits = false;
    for (const auto& block : cluster.blocks)
      if (number / warps_per_block_ == number_of(*block))
        waits = (block->warps[number % warps_per_block_].live() & arrival.lanes) != 0;
    const FindingPlace who = place(arrival, "");
    text += fmt::format("{} warp {} ({}:{}), which {}", comma, who.warp, who.file, who.line,
                        waits ? "waits itself" : "has exited");
    comma = ",";
    if (&arrival == &std::next(barrier.arrivals.begin(), std::min<std::size_t>(barrier.arrivals.size(), 3) - 1)->second)
      break;
  }
  return text;
}

std::string Judge::describe_wait(const Cluster& cluster, const Warp& warp, const Part& part) {
  const Wait& wait = part.wait;
  switch (wait.kind) {
    case WaitKind::mbarrier: {
      const Mbarrier* const barrier = find_mbarrier(cluster, wait.address);
      if (barrier == nullptr) return fmt::format("waits for {}", names_.mbarrier(wait.address));
      std::string text = fmt::format("waits for {}, parity {}: {} of {} arrivals missing",
                                     names_.mbarrier(wait.address), wait.parity, barrier->pending, barrier->expected);
      if (barrier->bytes != 0)
        text +=
            fmt::format(", {} bytes {}", std::abs(barrier->bytes), barrier->bytes > 0 ? "still to come" : "too many");
      return barrier->pending > 0 ? text + why_pending(cluster, *barrier) : text;
    }
    case WaitKind::barrier: {
      const NamedBarrier& barrier = warp.block().barriers[wait.index];
      return fmt::format("waits at barrier {}: {} of {} threads arrived", wait.index, barrier.arrived,
                         barrier.whole_block ? warp.block().live_threads : barrier.expected);
    }
    case WaitKind::cluster_barrier:
      return fmt::format("waits at the cluster's barrier: {} of {} threads arrived", cluster.barrier.arrived,
                         cluster.threads);
    case WaitKind::lanes:
      return fmt::format("waits for lanes {:#010x} of its warp", wait.lanes & warp.live() & ~part.mask);
    default: return "waits";
  }
}

void Judge::stuck(const Cluster& cluster) {
  check_bytes_left(cluster);
  for (const auto& block : cluster.blocks) check_warpgroups(*block);
  Finding finding;
  finding.name = fault::deadlock;
  finding.message = "no warp of a cluster can go on, and nothing is in flight";
  finding.help = "what each one waits for must be done by a thread that does not itself wait for it";
  std::map<std::tuple<const Block*, u32, std::string>, Stamp> waiting;
  for (const auto& block : cluster.blocks)
    for (const Warp& warp : block->warps)
      for (const Part& part : warp.parts()) {
        const u32 site = sites_.of(*part.frame.function, part.pc);
        waiting.try_emplace({block.get(), site, describe_wait(cluster, warp, part)}, stamp(warp, part.mask, site));
      }
  for (const auto& [key, who] : waiting) finding.places.push_back(place(who, std::get<2>(key)));
  if (findings_.is_new(fault::deadlock, 0, 0)) findings_.add(std::move(finding));
}

}  // namespace wm::vgpu::check
