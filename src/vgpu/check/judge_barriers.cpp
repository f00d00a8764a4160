// Meeting: barriers of warps, blocks and clusters, and lanes that should be together.
#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "vgpu/check/judge.hpp"

namespace wm::vgpu::check {

Meeting& Judge::meeting(Meetings& meetings, u64 generation) {
  Meeting& m = meetings[generation % meetings.size()];
  if (m.generation != generation) m = {generation, {}, {}};
  return m;
}

// ---- lanes of a warp ----

namespace {
WarpMeeting& meeting_of(WarpState& state, u32 named) {
  for (WarpMeeting& meeting : state.meetings)
    if (meeting.named == named) return meeting;
  return state.meetings.emplace_back(named);
}

u32 lanes_that_name(u32 named, const Warp& warp, const Op& op, u32 lanes) {
  const u32* masks = warp.source32(op.a);
  for (u32 left = lanes; left != 0; left &= left - 1)
    if (const auto lane = static_cast<u32>(std::countr_zero(left)); masks[lane] != named) lanes &= ~(1u << lane);
  return lanes;
}

// Nobody is waited for who has ended: that may be what the others waited for.
void complete(WarpState& state, const Warp& warp, WarpMeeting& meeting) {
  if (meeting.gathered == 0 || (meeting.named & warp.live() & ~meeting.gathered) != 0) return;
  meeting.met_clock = std::exchange(meeting.clock, {});
  meeting.met_pending = std::exchange(meeting.pending, {});
  // Who met as a whole is known as a whole.
  if ((state.clock.started() & ~meeting.gathered) == 0)
    meeting.met_clock.learn(whole_warp(state.number), plainly(state.clock.now() - 1));
  meeting.gathered = 0;
}
}  // namespace

void Judge::gather_warp(const Warp& warp, const Op& op, u32 lanes) {
  WarpState& state = state_of(warp);
  const u32 named = warp.source32(op.a)[std::countr_zero(lanes)];
  lanes = lanes_that_name(named, warp, op, lanes);  // the others come by themselves
  WarpMeeting& meeting = meeting_of(state, named);
  meeting.pending.join(state.clock.pending(lanes));
  meeting.clock.join(state.clock.release(lanes));
  meeting.gathered |= lanes;
  complete(state, warp, meeting);
}

void Judge::meet_warp(const Warp& warp, const Op& op, u32 lanes) {
  WarpState& state = state_of(warp);
  const u32 named = warp.source32(op.a)[std::countr_zero(lanes)];
  WarpMeeting& meeting = meeting_of(state, named);
  complete(state, warp, meeting);
  state.clock.meet(lanes_that_name(named, warp, op, lanes), meeting.met_clock, meeting.met_pending);
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
  findings_.report(Flaw::divergent_aligned, site, other_site.value_or(0), [&](Finding& finding) {
    finding.message = other_site
                          ? "lanes of one warp execute different .aligned instructions where they must be together"
                          : "an .aligned instruction is not executed by the lanes of its warp that have exited";
    finding.places = {place(stamp(warp, lanes, site), fmt::format("by lanes {:#010x}", lanes))};
    if (other_site) finding.places.push_back(place(stamp(warp, ~lanes & warp.live(), *other_site), "by other lanes"));
  });
}

// ---- blocks and clusters ----

void Judge::barrier_arrives(const Warp& warp, u32 lanes, u32 barrier, u32 threads, bool waits) {
  ++executed_.barriers;
  WarpState& state = state_of(warp);
  BlockState& block = state_of(warp.block());
  const NamedBarrier& now = warp.block().barriers[barrier];
  const Stamp me = stamp(warp, lanes, running_);
  if (now.arrived > 0 && threads != 0 && now.expected != 0 && now.expected != threads)
    findings_.report(Flaw::barrier_count_mismatch, me.site, block.last_arrival[barrier].site, [&](Finding& finding) {
      finding.message = fmt::format("barrier {} is used with {} threads and, in the same phase, with {}", barrier,
                                    threads, now.expected);
      finding.places = {place(me, fmt::format("says {}", threads)),
                        place(block.last_arrival[barrier], fmt::format("said {}", now.expected))};
    });
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

}  // namespace wm::vgpu::check
