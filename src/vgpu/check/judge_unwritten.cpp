// Memory that is read though nobody has written it. Main loops load what a further step would need before they know
// whether there is one: what counts is that an instruction takes the value.
#include <algorithm>

#include <fmt/format.h>

#include "vgpu/check/judge.hpp"
#include "vgpu/memory/spaces.hpp"

namespace wm::vgpu::check {

void Judge::unwritten(const MemoryRange& range) {
  unwritten_[range.address] = range.bytes;
  used_heap_ |= is_heap(range.address);
}

// Who still uses it is soon told of it; who comes later finds no memory there.
void Judge::freed(const MemoryRange& range) {
  constexpr std::size_t kept = 1024;
  used_heap_ = true;
  unwritten_.erase(range.address);
  freed_.push_back(range);
  if (freed_.size() <= kept) return;
  global_.forget(freed_.front().address, freed_.front().bytes);
  freed_.pop_front();
}

// That holds this address.
std::optional<u64> Judge::unwritten_allocation(u64 address) const {
  const auto after = unwritten_.upper_bound(address);
  if (after == unwritten_.begin()) return std::nullopt;
  const auto& [begin, bytes] = *std::prev(after);
  return address - begin < bytes ? std::optional(begin) : std::nullopt;
}

void Judge::check_written(const Actor& actor, u64 address, u64 bytes) {
  if (!actor.shared && !actor.tensor) {
    const auto allocation = unwritten_allocation(address);
    if (!allocation) return;
    read_unwritten_.insert(*allocation);
  }
  const u32 number = actor.stamp.site;
  unwritten_reads_.try_emplace(number, Access{actor.stamp, address, bytes});
  const Site& site = sites_.at(number);
  const auto registers = site.function->touched.writes(site.index);
  if (actor.writes || site.effect->kind != Effect::Kind::access || registers.empty()) {
    used_reads_.insert(number);
    return;
  }
  // ldmatrix hands a row to other lanes than the one that names it.
  const u32 lanes = site.effect->whole_warp ? all_lanes : actor.stamp.lanes;
  WarpState& state = state_of(actor.warp);
  for (const u32 reg : registers) {
    WarpState::Unwritten& held = state.unwritten[{site.function->index, reg}];
    held = {number, held.lanes | lanes};
  }
}

// Copies from register to register take the value along; whatever else reads it, uses it.
void Judge::follow_unwritten(WarpState& state, const Warp& warp, u32 number, u32 active) {
  const Site& site = sites_.at(number);
  const u32 function = warp.function()->index;
  const bool copies = site.instruction->kind == Effect::Kind::move;
  WarpState::Unwritten moved;
  for (const u32 reg : site.function->touched.reads(site.index)) {
    const auto held = state.unwritten.find({function, reg});
    if (held == state.unwritten.end() || (held->second.lanes & active) == 0) continue;
    if (copies)
      moved = {held->second.site, held->second.lanes & active};
    else
      used_reads_.insert(held->second.site);
  }
  for (const u32 reg : site.function->touched.writes(site.index)) {
    const auto held = state.unwritten.find({function, reg});
    if (held != state.unwritten.end() && (held->second.lanes &= ~active) == 0) state.unwritten.erase(held);
    if (moved.lanes == 0) continue;
    WarpState::Unwritten& now = state.unwritten[{function, reg}];
    now = {moved.site, now.lanes | moved.lanes};
  }
}

bool Judge::only_unwritten_reads() {
  report_doubtful_reads();
  if (findings_.has_errors()) return false;
  return std::any_of(unwritten_reads_.begin(), unwritten_reads_.end(),
                     [&](const auto& read) { return is_unwritten_read(read.first); });
}

// At the end, unless somebody writes this memory without an order: then that is what is wrong.
void Judge::report_unwritten_reads() {
  for (const auto& [site, access] : unwritten_reads_) {
    if (!is_unwritten_read(site)) continue;
    const auto omission = unwritten_matters_ ? std::nullopt : std::optional(Omission::unused_contents);
    // clang 14 captures bindings only by name.
    findings_.report(Flaw::uninitialised_read, omission, site, 0, [&, &access = access](Finding& finding) {
      finding.message =
          fmt::format("{} memory is read that nobody has written", is_shared(access.address)   ? "shared"
                                                                   : is_tensor(access.address) ? "tensor"
                                                                                               : "global");
      finding.places = {place(access.stamp, "reads " + names_.memory(access.address, access.bytes))};
    });
  }
}

}  // namespace wm::vgpu::check
