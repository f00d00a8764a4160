// Tensor memory: whose work comes after whose, and the fences of tcgen05 between it and the threads' barriers.
#include <fmt/format.h>

#include "vgpu/check/judge.hpp"

namespace wm::vgpu::check {

// The line of work of tcgen05 that completes like this; null for other work.
Judge::GroupLine* Judge::tensor_line_of(WarpState& state, Completion completion, u32 lane) {
  switch (completion) {
    case Completion::tensor_products: return &state.tensor_products[lane];
    case Completion::tensor_loads: return &state.tensor_loads;
    case Completion::tensor_stores: return &state.tensor_stores;
    default: return nullptr;
  }
}

// tcgen05.wait::ld, wait::st: all that the warp has issued is done, for its own lanes and whom they tell.
void Judge::wait_tensor(const Warp& warp, Completion completion) {
  WarpState& state = state_of(warp);
  GroupLine& line = *tensor_line_of(state, completion, 0);
  if (line.id == 0) return;
  Clock known;
  known.learn(async_line(line.id), plainly(line.open));
  state.clock.learn(state.clock.started(), known);
  ++line.open;
}

void Judge::fence_tensor(const Warp& warp, const Effect& effect, u32 lanes) {
  const Known fenced = effect.acquires() ? Known::map_acquired : Known::map_released;
  state_of(warp).clock.change(lanes, [&](LaneClass& c) { c.clock.promote_tensor(Known::reads, fenced); });
}

// Products and copies of one thread take place in the order of their issue.
bool Judge::follows_in_order(const Actor& actor, const AsyncWork& work) const {
  return work.tensor && actor.stamp.async != 0 && async_[actor.stamp.async].line == work.line;
}

// The two are ordered by a barrier: what PTX asks for around it, CUTLASS leaves out.
void Judge::check_tensor_fence(const Actor& actor, const Stamp& before, bool before_wrote, u64 address, u64 bytes) {
  if (before.async == 0 || actor.stamp.async == 0 || before.warp == actor.stamp.warp) return;
  const AsyncWork& work = async_[before.async];
  const auto fenced = [&](Known way) { return actor.knows.clock.time(async_line(work.line), way) >= work.time; };
  const bool released = fenced(Known::map_released), acquired = fenced(Known::map_acquired);
  if (released && acquired) return;
  findings_.report(Flaw::missing_tensor_fence, Omission::tensor_fence, actor.stamp.site, before.site,
                   [&](Finding& finding) {
                     finding.message = fmt::format("tensor memory passes from thread to thread with no {}",
                                                   released ? "tcgen05.fence::after_thread_sync behind the wait"
                                                            : "tcgen05.fence::before_thread_sync before the arrival");
                     const std::string where = names_.memory(address, bytes);
                     finding.places = {place(actor.stamp, (actor.writes ? "writes " : "reads ") + where),
                                       place(before, (before_wrote ? "wrote " : "read ") + where)};
                   });
}

// What is wrong between an access to tensor memory and this work on it, and what would order them.
void Judge::describe_tensor_race(Finding& finding, u32 work, bool wrote, bool too_early) const {
  const auto completion = work != 0 ? sites_.effect(async_[work].issue.site).completion : Completion::at_once;
  const bool product = completion == Completion::tensor_products, load = completion == Completion::tensor_loads;
  const char* const who = product                                   ? "the product or copy"
                          : load                                    ? "the tcgen05.ld"
                          : completion == Completion::tensor_stores ? "the tcgen05.st"
                                                                    : "the thread";
  finding.message =
      too_early
          ? fmt::format("tensor memory is read, and nothing says that {} that writes it is done", who)
          : fmt::format("tensor memory is overwritten while {} may still be {} it", who, wrote ? "writing" : "reading");
  finding.help = product
                     ? "wait for the mbarrier of a tcgen05.commit that follows it"
                     : fmt::format("its warp runs tcgen05.wait::{} before the arrival or barrier that lets this go on",
                                   load ? "ld" : "st");
}

}  // namespace wm::vgpu::check
