// How mbarriers are misused: used before they are ready, told wrong counts, waited for too late.
#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "vgpu/check/judge.hpp"
#include "vgpu/machine/access.hpp"

namespace wm::vgpu::check {

void Judge::joins_circle(Mbarrier& barrier, u32 warp) {
  const Finding::Party party{id_of(warp / warps_per_block_), warp % warps_per_block_};
  if (std::find(barrier.circle->begin(), barrier.circle->end(), party) == barrier.circle->end())
    barrier.circle->push_back(party);
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
  const Flaw flaw = happened ? Flaw::barrier_init_not_visible : Flaw::barrier_not_initialised;
  const auto omission = by_copy && data ? std::optional(Omission::init_fence) : std::nullopt;
  findings_.report(flaw, omission, use.site, init.site, [&](Finding& finding) {
    const std::string name = names_.mbarrier(address);
    finding.message = !happened ? fmt::format("{} is used, and nothing orders this after its initialisation", name)
                      : by_copy
                          ? fmt::format("a copy signals {}, whose initialisation no fence made visible to copies", name)
                          : fmt::format(
                                "{} is used from another block, and no fence made its initialisation "
                                "visible there",
                                name);
    if (!happened) finding.help = "a barrier between mbarrier.init and the first use";
    finding.places = {place(use, "uses it"), place(init, "initialises it")};
    findings_.concerns(*barrier.circle);
  });
}

void Judge::reinitialised(const Stamp& init, u64 address, const Stamp& use, const char* verb,
                          std::optional<Omission> omission) {
  findings_.report(Flaw::barrier_reinitialised, omission, init.site, use.site, [&](Finding& finding) {
    const char* const who = sites_.effect(use.site).kind == Effect::Kind::copy ? "copy" : "thread";
    finding.message = fmt::format("{} is {} while a {} may still use it", names_.mbarrier(address), verb, who);
    finding.places = {place(init, "does it"), place(use, "uses it")};
  });
}

// Who makes an end of a barrier comes after all that use it: threads, and copies that signal it.
bool Judge::check_done_with(const Actor& actor, const Mbarrier& barrier, const char* verb) {
  const Stamp *user = nullptr, *met = nullptr;
  for (const auto& [who, last] : barrier.users)
    if (!last.together(actor.stamp) && !ordered(actor, last, Known::reads))
      (ordered(actor, last, Known::met) ? met : user) = &last;
  if (!barrier.under_way.empty())
    user = &async_[barrier.under_way.begin()->first].issue;
  else if (actor.knows.clock.time(async_line(barrier.id), Known::control) < barrier.copied_until)
    user = &barrier.copy;
  if (user != nullptr)
    reinitialised(actor.stamp, barrier.address, *user, verb);
  else if (met != nullptr)
    reinitialised(actor.stamp, barrier.address, *met, verb, Omission::lanes_together);
  return user == nullptr && met == nullptr;
}

void Judge::invalidate(const Warp& warp, u32 lane, Mbarrier& barrier, const Stamp& me) {
  Actor actor{warp, state_of(warp).clock.of_lane(lane), me};
  check_done_with(actor, barrier, "invalidated");
  barrier.valid = false;
  state_of(*warp.cluster().blocks[barrier.address >> shared_rank_shift])
      .live.erase(barrier.address & shared_offset_mask);
  actor.writes = true;
  check_range(actor, shared_window + barrier.address, 8);
}

// Data over a barrier that is alive: it is none from then on.
void Judge::check_barriers_under(const Actor& actor, u64 address, u64 bytes) {
  BlockState& owner = state_of(*actor.warp.cluster().blocks[(address - shared_window) >> shared_rank_shift]);
  if (owner.live.empty()) return;
  const u64 first = address & shared_offset_mask;
  const auto barrier = owner.live.lower_bound(first < 8 ? 0 : first - 7);
  if (barrier == owner.live.end() || *barrier >= first + bytes) return;
  const Mbarrier& lost = owner.mbarriers[*barrier];
  findings_.report(Flaw::barrier_overwritten, actor.stamp.site, lost.init.site, [&](Finding& finding) {
    finding.message = fmt::format("data is written over {}, which is alive", names_.mbarrier(lost.address));
    finding.places = {place(actor.stamp, "writes " + names_.memory(address, bytes)),
                      place(lost.init, "initialised it")};
    findings_.concerns(*lost.circle);
  });
  owner.live.erase(barrier);
}

// Who arrived in the phase that ends now and in the one before, where none arrived in both and all at one instruction:
// then they arrive side by side, and the barrier was told of too few. Else nobody.
std::vector<Stamp> Judge::crowd(const Mbarrier& barrier) {
  std::vector<Stamp> all = barrier.arrived_before;
  for (const Stamp& arrival : barrier.arrived) {
    for (const Stamp& before : barrier.arrived_before)
      if (before.site != arrival.site || (before.warp == arrival.warp && (before.lanes & arrival.lanes) != 0))
        return {};
    all.push_back(arrival);
  }
  return barrier.arrived.empty() || barrier.arrived_before.empty() ? std::vector<Stamp>{} : all;
}

// More arrivals than it was initialised for: `others` have arrived beside this one.
void Judge::overrun(const Mbarrier& barrier, const Stamp& arrival, const std::vector<Stamp>& others) {
  findings_.report(Flaw::barrier_overrun, arrival.site, barrier.init.site, [&](Finding& finding) {
    finding.places = {place(arrival, "arrives"),
                      place(barrier.init, fmt::format("initialises it with {}", barrier.expected))};
    constexpr std::size_t shown = 6;
    std::map<u32, u32> lanes = {{arrival.warp, arrival.lanes}};  // of each warp
    for (const Stamp& other : others) {
      lanes[other.warp] |= other.lanes;
      const bool same = other.warp == arrival.warp && other.site == arrival.site;
      if (!same && finding.places.size() < shown) finding.places.push_back(place(other, "arrives too"));
    }
    int threads = 0;
    for (const auto& [warp, arrived] : lanes) threads += std::popcount(arrived);
    const std::string who = threads == 1 ? "a thread arrives more often"
                                         : fmt::format("at least {} threads of {} warp{} arrive", threads, lanes.size(),
                                                       lanes.size() == 1 ? "" : "s");
    finding.message = fmt::format("{} expects {} arrival{} in a phase, and {}", names_.mbarrier(barrier.address),
                                  barrier.expected, barrier.expected == 1 ? "" : "s", who);
    findings_.concerns(*barrier.circle);
  });
}

// The end of a phase that a waiter has not been seen to look at before the next one ends too.
void Judge::missed(const Mbarrier& barrier, const Stamp& waiter, std::string waits, const Stamp& end,
                   const std::vector<Stamp>& crowd) {
  if (!crowd.empty()) {
    std::vector<Stamp> others = crowd;
    const Stamp last = others.back();
    others.pop_back();
    return overrun(barrier, last, others);
  }
  findings_.report(Flaw::missed_phase, waiter.site, end.site, [&](Finding& finding) {
    finding.message = fmt::format("a phase of {} can end, and the next one too, before this waiter looks",
                                  names_.mbarrier(barrier.address));
    finding.places = {place(waiter, std::move(waits)), place(end, "may end the next phase first")};
    const auto& idle = state_of(end.warp).idle_wait;  // a wrong parity, most often
    if (idle.why != nullptr)
      finding.places.push_back(
          place(idle.stamp, fmt::format("waits for {} before that: {}", names_.mbarrier(idle.barrier), idle.why)));
    findings_.concerns(*barrier.circle);
  });
}

void Judge::ends_in_a_copy(const Mbarrier& barrier, const AsyncWork& copy, u32 left) {
  findings_.report(Flaw::wrong_byte_count, barrier.expectation.site, copy.issue.site, [&](Finding& finding) {
    finding.message = fmt::format("a phase of {} ends in the middle of a copy: {} of its {} bytes are still to come",
                                  names_.mbarrier(barrier.address), left, copy.bytes);
    finding.places = {place(barrier.expectation, "announces bytes"),
                      place(copy.issue, fmt::format("brings {} bytes", copy.bytes))};
    findings_.concerns(*barrier.circle);
  });
}

// A block may end with bytes announced of which none has come, as a producer does whose tail acquires a stage once
// more: nobody waits for them any longer.
void Judge::check_bytes_left(const Cluster& cluster, bool ended) {
  for (const auto& block : cluster.blocks)
    for (const auto& entry : state_of(*block).mbarriers) {
      const Mbarrier& barrier = entry.second;  // no binding: clang 14 captures those only by name
      if (!barrier.valid || barrier.bytes == 0 || bytes_went_to_peer(cluster, barrier)) continue;
      if (ended && barrier.bytes == barrier.announced) continue;
      const Stamp& announced = barrier.expectation.exists() ? barrier.expectation : barrier.init;
      findings_.report(Flaw::wrong_byte_count, announced.site, barrier.copy.site, [&](Finding& finding) {
        const std::string name = names_.mbarrier(barrier.address);
        finding.message =
            barrier.bytes > 0
                ? fmt::format("{} was told of {} bytes more than its copies brought", name, barrier.bytes)
                : fmt::format("copies brought {} {} bytes more than it was told of", name, -barrier.bytes);
        finding.places = {place(announced, "announces bytes")};
        if (barrier.copy.exists()) finding.places.push_back(place(barrier.copy, "brings bytes"));
        findings_.concerns(*barrier.circle);
      });
    }
}

}  // namespace wm::vgpu::check
