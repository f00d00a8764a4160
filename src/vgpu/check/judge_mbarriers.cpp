// mbarriers: their phases, arrivals and bytes, and how they are misused.
#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "vgpu/check/judge.hpp"
#include "vgpu/machine/access.hpp"
#include "vgpu/machine/mbarrier.hpp"

namespace wm::vgpu::check {

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

}  // namespace wm::vgpu::check
