// Tensor memory: whose work comes after whose, and the fences of tcgen05 between it and the threads' barriers.
#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "vgpu/check/judge.hpp"

namespace wm::vgpu::check {

// The line of work of tcgen05 that completes like this; null for other work.
GroupLine* Judge::tensor_line_of(WarpState& state, Completion completion, u32 lane) {
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
  WarpState& state = state_of(warp);
  const Known fenced = effect.acquires() ? Known::map_acquired : Known::map_released;
  if (effect.acquires()) {
    state.clock.change(lanes, [](LaneClass& c) { c.clock.promote_tensor(Known::map_released, Known::map_acquired); });
    for (u32 left = lanes; left != 0; left &= left - 1) state.tensor_products[std::countr_zero(left)].follows = false;
  } else {
    // What a lane has asked for may be going on: only products and copies of others may follow it already.
    for (u32 left = lanes; left != 0; left &= left - 1) {
      const u32 lane = static_cast<u32>(std::countr_zero(left));
      GroupLine& line = state.tensor_products[lane];
      if (line.id == 0) continue;
      Clock issued;
      issued.learn(async_line(line.id), only_as(Known::map_released, line.open++));
      state.clock.learn(1u << lane, issued);
    }
  }
  state.clock.change(lanes, [&](LaneClass& c) { c.clock.promote_tensor(Known::reads, fenced); });
}

void Judge::note_loaded(const Warp& warp, WarpState& state, u32 load) {
  const Site& site = sites_.at(running_);
  state.loaded.resize(std::max(state.loaded.size(), warp.function()->source->registers.size()));
  for (const u32 reg : site.function->touched.writes(site.index)) state.loaded[reg] = load;
}

// An instruction that computes with a register of a tcgen05.ld, or stores it, waits for that load. A copy from register
// to register may be gone in machine code.
void Judge::note_use(const Warp& warp, WarpState& state, u32 number) {
  const Site& site = sites_.at(number);
  state.loaded.resize(std::max(state.loaded.size(), warp.function()->source->registers.size()));
  const bool copies = site.instruction->kind == Effect::Kind::move;
  u32 moved = 0;
  for (const u32 reg : site.function->touched.reads(site.index)) {
    const u32 load = state.loaded[reg];
    if (load == 0) continue;
    if (copies)
      moved = load;
    else if (Stamp& used = async_[load].used; !used.exists())
      used = stamp(warp, running_lanes_, number);
  }
  for (const u32 reg : site.function->touched.writes(site.index)) state.loaded[reg] = moved;
}

// Whether this comes after a use of what the load before it brought: then the load is over, though PTX promises that to
// the using thread alone.
std::optional<Omission> Judge::relies_on_use(const Actor& actor, const Stamp& before, bool before_wrote) const {
  if (!actor.tensor || before_wrote || before.async == 0) return std::nullopt;
  const Stamp& used = async_[before.async].used;
  if (!used.exists() || !ordered(actor, used, Known::reads)) return std::nullopt;
  return Omission::load_wait;
}

// Products and copies of one thread take place in the order of their issue.
bool Judge::follows_in_order(const Actor& actor, const AsyncWork& work) const {
  return work.tensor && actor.stamp.async != 0 && async_[actor.stamp.async].line == work.line;
}

// A product or copy of another thread, which has run the fence before a synchronisation; this one the fence behind it.
bool Judge::follows_by_fences(const Actor& actor, const AsyncWork& work) const {
  const auto pipelined = [&](const AsyncWork& w) {
    return w.tensor && sites_.effect(w.issue.site).completion == Completion::tensor_products;
  };
  return actor.stamp.async != 0 && pipelined(work) && pipelined(async_[actor.stamp.async]) &&
         actor.knows.clock.time(async_line(work.line), Known::map_acquired) >= work.time;
}

void Judge::names_foreign_lane(const Warp& warp, u32 lane) {
  findings_.report(Flaw::foreign_lanes, running_, 0, [&](Finding& finding) {
    const u32 own = warp.index() % 4 * 32, named = lane / 32 * 32;
    finding.message = fmt::format("warp {} names lane {} of tensor memory, and reaches lanes {} to {} alone",
                                  warp.index(), lane, own, own + 31);
    finding.places = {
        place(stamp(warp, warp.started(), running_), fmt::format("gets lanes from {} on, not from {}", own, named))};
  });
}

void Judge::tolerates(const Warp& warp, Omission what, const std::string& operand) {
  findings_.report(Flaw::tolerated_operand, what, running_, 0, [&](Finding& finding) {
    finding.message = operand;
    finding.help = what == Omission::descriptor_version
                       ? "set bits 46-48 of the descriptor to 1"
                       : "write .shared::cluster, whose address has 32 bits, or make the address generic (cvta.shared)";
    finding.places = {place(stamp(warp, warp.started(), running_), "gives it")};
  });
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
