// mbarriers: their phases, arrivals and bytes.
#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "vgpu/check/judge.hpp"
#include "vgpu/machine/access.hpp"
#include "vgpu/machine/mbarrier.hpp"

namespace wm::vgpu::check {

namespace {
// What an arrival passes on that does not release: what was done and read, and of what was written no more than that it
// was. The fences of tcgen05 are of their own.
Clock without_data(const Clock& message) {
  Clock told = message;
  told.promote(Known::data, Known::peer);
  told.promote(Known::shared_proxy, Known::peer_proxy);
  Clock kept = told.only({Known::reads, Known::control, Known::met, Known::peer, Known::peer_proxy, Known::relied});
  kept.join(message.tensor_fenced());
  return kept;
}
}  // namespace

Mbarrier* Judge::find_mbarrier(const Cluster& cluster, u64 address) {
  const u64 rank = address >> shared_rank_shift;
  if (rank >= cluster.blocks.size()) return nullptr;
  auto& barriers = state_of(*cluster.blocks[rank]).mbarriers;
  const auto found = barriers.find(address & shared_offset_mask);
  return found == barriers.end() || !found->second.valid ? nullptr : &found->second;
}

void Judge::initialise(const Warp& warp, u32 lane, u64 address, const MbarrierUse& use, const Stamp& me) {
  const Block& block = *warp.cluster().blocks[address >> shared_rank_shift];
  Mbarrier& barrier = state_of(block).mbarriers[address & shared_offset_mask];
  Actor actor{warp, state_of(warp).clock.of_lane(lane), me};
  if (barrier.valid && check_done_with(actor, barrier, "initialised again")) {
    const Stamp& init = barrier.init;
    const bool alike = init.warp == me.warp && init.lanes != me.lanes && init.site == me.site &&
                       barrier.expected == use.count && barrier.users.empty();
    const auto omission = alike ? std::optional(Omission::init_by_lanes) : std::nullopt;
    findings_.report(Flaw::barrier_reinitialised, omission, me.site, barrier.init.site, [&](Finding& finding) {
      finding.message = fmt::format("{} is initialised while it is alive", names_.mbarrier(address));
      finding.help = "mbarrier.inval before a new mbarrier.init";
      finding.places = {place(me, "initialises it again"), place(barrier.init, "initialised it")};
    });
  }
  const bool again = barrier.valid;
  state_of(block).live.erase(address & shared_offset_mask);
  actor.writes = true;
  check_range(actor, shared_window + address, 8);
  state_of(block).live.insert(address & shared_offset_mask);
  barrier = {};
  barrier.again = again;
  barrier.address = address;
  barrier.id = new_line();
  barrier.init = me;
  barrier.valid = true;
  barrier.circle = &circles_[{number_of(block), address & shared_offset_mask}];
  joins_circle(barrier, me.warp);
  barrier.expected = barrier.pending = use.count;
}

void Judge::uses_mbarrier(const Warp& warp, const Op& op, u32 lanes, const MbarrierUse& use) {
  using Kind = MbarrierUse::Kind;
  const u32 number = site_of(warp, op);
  const Effect& effect = sites_.effect(number);
  const Stamp me = stamp(warp, lanes, number);
  const u32 lane = static_cast<u32>(std::countr_zero(lanes));
  const u64 rank = use.address >> shared_rank_shift;
  if (rank >= warp.cluster().blocks.size()) return;
  const Block& owner = *warp.cluster().blocks[rank];
  if (&owner != &warp.block()) remember_visit(owner, me);
  if (use.kind == Kind::init) return initialise(warp, lane, use.address, use, me);
  Mbarrier* barrier = find_mbarrier(warp.cluster(), use.address);
  if (barrier == nullptr) {
    findings_.report(Flaw::barrier_not_initialised, number, 0, [&](Finding& finding) {
      finding.message = fmt::format("{} is used and has not been initialised", names_.mbarrier(use.address));
      finding.places = {place(me, "uses it")};
    });
    return;
  }
  // Clocks only grow: who was seen to be ordered after the initialisation stays so.
  const auto [user, first] = barrier->users.try_emplace({me.warp, lanes}, me);
  if (first) {
    joins_circle(*barrier, me.warp);
    for (u32 left = lanes; left != 0; left &= left - 1)
      check_init_visible(warp, static_cast<u32>(std::countr_zero(left)), use.address, *barrier, me, false);
  }
  user->second = me;

  switch (use.kind) {
    case Kind::invalidate: return invalidate(warp, lane, *barrier, me);
    case Kind::wait: return wait(warp, *barrier, use, me, effect);
    case Kind::expect: announce(*barrier, use.bytes, me); return turn(*barrier);
    case Kind::complete: barrier->bytes -= use.bytes; return turn(*barrier);
    case Kind::arrive: break;
    case Kind::init: return;
  }
  ++executed_.barriers;
  if (use.count > barrier->pending) overrun(*barrier, me, barrier->arrived);
  if (use.bytes != 0) announce(*barrier, use.bytes, me);
  WarpState& state = state_of(warp);
  Clock message = state.clock.release(lanes);
  const Scope distance = &owner != &warp.block() ? Scope::cluster : Scope::block;
  if (effect.relaxed()) {
    Clock fenced = message.fenced(fenced_at(distance));
    fenced.join(message.tensor_fenced());
    message = message.only({Known::control});
    if (distance <= effect.scope) message.join(fenced);
  } else if (distance > effect.scope) {
    message = without_data(message);
  }
  if (use.drop) barrier->expected -= std::min(use.count, barrier->expected);
  arrive(*barrier, use.count, message, distance, me);
}

void Judge::announce(Mbarrier& barrier, u32 bytes, const Stamp& me) {
  barrier.bytes += bytes;
  barrier.announced += bytes;
  barrier.expectation = me;
}

// What another block's thread has written is for those who wait at cluster scope; that it has read, for all.
void Judge::arrive(Mbarrier& barrier, u32 count, const Clock& message, Scope distance, const Stamp& me) {
  if (distance == Scope::block) {
    barrier.arriving.join(message);
  } else {
    barrier.arriving.join(without_data(message));
    barrier.peers_arriving.join(message);
  }
  barrier.last_arrival = barrier.arrivals[me.warp] = me;
  const auto same = std::find_if(barrier.arrived.begin(), barrier.arrived.end(),
                                 [&](const Stamp& a) { return a.warp == me.warp && a.site == me.site; });
  if (same == barrier.arrived.end())
    barrier.arrived.push_back(me);
  else
    same->lanes |= me.lanes;
  barrier.pending -= std::min(count, barrier.pending);
  turn(barrier);
}

// Ends the phase if all of it has come.
void Judge::turn(Mbarrier& barrier) {
  if (barrier.pending != 0 || barrier.bytes != 0) return;
  for (const auto& [copy, left] : barrier.under_way) {
    const AsyncWork& work = async_[copy];
    if (left == work.bytes) continue;
    ends_in_a_copy(barrier, work, left);
  }
  // Who waited for the phase before must have been seen to do so by somebody who takes part in this one.
  const auto known = [&](const Stamp& wait) {
    return barrier.arriving.covers_any(wait.warp, wait.lanes, wait.time, Known::control);
  };
  for (const Stamp& seen : barrier.waits) {
    const bool by_a_lane = std::any_of(barrier.waits.begin(), barrier.waits.end(),
                                       [&](const Stamp& wait) { return wait.warp == seen.warp && known(wait); });
    if (by_a_lane) continue;
    missed(barrier, seen,
           barrier.phase == 0 ? "is granted at once: the barrier is fresh"
                              : fmt::format("waits for the end of phase {}", barrier.phase - 1),
           barrier.last_arrival, crowd(barrier));
  }
  const bool unseen = barrier.waits.empty() && barrier.phase > 0;
  barrier.missed_end = unseen ? barrier.last_arrival : Stamp{};
  barrier.missed_crowd = unseen ? crowd(barrier) : std::vector<Stamp>{};
  barrier.arrived_before = std::exchange(barrier.arrived, {});
  barrier.waits.clear();
  ++barrier.phase;
  barrier.announced = 0;
  barrier.pending = barrier.expected;
  // Copies are done for every proxy; messages as the stores that they are.
  barrier.arriving.learn(async_line(barrier.id), in_every_way(barrier.phase));
  if (barrier.own_messages) barrier.arriving.learn(async_line(barrier.id + 1), plainly(barrier.phase));
  if (barrier.peers_messages) {
    Times heard = only_as(Known::control, barrier.phase);
    of(heard, Known::told) = barrier.phase;
    barrier.arriving.learn(async_line(barrier.id + 2), heard);
    barrier.peers_arriving.learn(async_line(barrier.id + 2), plainly(barrier.phase));
  }
  barrier.done = barrier.arriving;
  barrier.peers_done = barrier.peers_arriving;
}

void Judge::wait(const Warp& warp, Mbarrier& barrier, const MbarrierUse& use, const Stamp& me, const Effect& effect) {
  if (!use.done) {
    // It asks for the parity of the phase that goes on. Were the last two ends seen by nobody, it has missed them.
    if (barrier.missed_end.exists())
      missed(barrier, me, "looks when the phase it waits for, and the next one too, are over", barrier.missed_end,
             barrier.missed_crowd);
    return;
  }
  const auto same = std::find_if(barrier.waits.begin(), barrier.waits.end(), [&](const Stamp& seen) {
    return seen.warp == me.warp && seen.time == me.time && seen.site == me.site;
  });
  if (same == barrier.waits.end()) {
    const bool again = std::any_of(barrier.waits.begin(), barrier.waits.end(),
                                   [&](const Stamp& seen) { return seen.warp == me.warp; });
    state_of(warp).idle_wait = {me, barrier.address,
                                again                ? "has waited for that phase before, and is granted it again"
                                : barrier.phase == 0 ? "is granted at once: the barrier is fresh"
                                                     : nullptr};
    if (!again && barrier.phase > 0) barrier.heard[me.warp] = me;
    barrier.waits.push_back(me);
  } else {
    same->lanes |= me.lanes;
    if (const auto heard = barrier.heard.find(me.warp); heard != barrier.heard.end() && heard->second.time == me.time)
      heard->second.lanes |= me.lanes;
  }
  barrier.missed_end = {};
  if (learnt_.empty() || learnt_.back().barrier != barrier.id) {
    Learnt& learnt = learnt_.emplace_back();
    learnt.barrier = barrier.id;
    (effect.relaxed() ? learnt.pending.from(Scope::block) : learnt.clock) = barrier.done;
    const bool reaches = !effect.relaxed() && effect.scope != Scope::block;
    (reaches ? learnt.clock : learnt.pending.from(Scope::cluster)).join(barrier.peers_done);
    if (effect.relaxed()) {  // that it has happened is seen; and fences of tcgen05 need no more of a wait
      learnt.clock.join(barrier.done.only({Known::control}));
      learnt.clock.join(barrier.done.tensor_fenced());
      if (effect.scope != Scope::block) learnt.clock.join(barrier.peers_done.tensor_fenced());
    }
  }
  learnt_.back().lanes |= me.lanes;
}

u64 Judge::arrival_issued(const Warp& warp, u32 lane, u64 address, bool increments) {
  Mbarrier* barrier = find_mbarrier(warp.cluster(), address);
  WarpState& state = state_of(warp);
  const u64 number = ++arrivals_issued_;
  const Stamp me = stamp(warp, 1u << lane, running_);
  Clock message = state.clock.release(1u << lane);
  GroupLine* const tensor = tensor_line_of(state, sites_.effect(running_).completion, lane);
  GroupLine& line = tensor != nullptr ? *tensor : state.copies[lane];
  // When it arrives, all work so far is done: also that of the group that is still open.
  if (tensor != nullptr) {
    const Clock followed = message.tensor_done(Known::map_acquired);
    message = message.only({Known::reads, Known::control});
    if (line.follows) message.join(followed);  // this thread's work came after that of others, and is done
    Times times = plainly(line.open);
    of(times, Known::map_released) = line.open;  // tcgen05.commit contains the fence before a synchronisation
    if (line.id != 0) message.learn(async_line(line.id), times);
    ++line.open;
    if (barrier != nullptr && address >> shared_rank_shift != warp.block().rank)
      remember_visit(*warp.cluster().blocks[address >> shared_rank_shift], me);
  } else if (line.id != 0) {
    message.learn(async_line(line.id), plainly(line.open));
  }
  arrivals_[number] = std::move(message);
  if (barrier != nullptr && increments) ++barrier->pending;
  if (barrier != nullptr) check_init_visible(warp, lane, address, *barrier, me, false);
  arrival_stamps_[number] = me;
  return number;
}

void Judge::arrival_arrives(const Cluster& cluster, u64 address, u64 arrival) {
  Mbarrier* barrier = find_mbarrier(cluster, address);
  if (barrier == nullptr) return;
  arrive(*barrier, 1, arrivals_[arrival], Scope::block, arrival_stamps_[arrival]);
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
  if (work.generic) {
    work.line += work.from_peer ? 2 : 1;
    (work.from_peer ? barrier->peers_messages : barrier->own_messages) = true;
  }
  if (left == 0) {
    barrier->under_way.erase(copy);
    work.clock = {};
    work.time = work.source_time = barrier->phase + 1;
    if (!work.generic) barrier->copied_until = work.time;
    work.source_line = work.line;
  }
  turn(*barrier);
}

}  // namespace wm::vgpu::check
