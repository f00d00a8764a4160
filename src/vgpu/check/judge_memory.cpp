// Accesses: who has touched each byte, and flags that pass on what their writer knows.
#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "vgpu/check/judge.hpp"
#include "vgpu/machine/access.hpp"

namespace wm::vgpu::check {

// Whether whoever is ordered after this read is ordered after that earlier one too, so that it need not be kept.
bool Judge::outlasts(const Actor& actor, const Stamp& earlier) const {
  const Stamp& me = actor.stamp;
  if (me.async == 0) {
    if (me.strong && !earlier.strong) return false;
    return earlier.async != 0 ? async_reads_ordered(actor, earlier.async) : ordered(actor, earlier, Known::reads);
  }
  if (earlier.async == 0) return false;
  const AsyncWork &mine = async_[me.async], &other = async_[earlier.async];  // groups of a line end in their order
  return mine.source_time != 0 && other.source_time != 0 && mine.source_line == other.source_line &&
         other.source_time <= mine.source_time;
}

void Judge::check_cell(Actor& actor, Cell& cell, u64 address, u64 bytes) {
  const Stamp& me = actor.stamp;
  if (actor.reads && !cell.written) check_written(actor, address, bytes);
  if (cell.write.exists()) check_write(actor, cell.write, cell.read.exists() ? &cell.read : nullptr, address, bytes);
  if (actor.writes) {
    if (cell.write.async != 0 && me.async != 0) async_[me.async].replaced = cell.write.async;
    if (cell.read.exists())
      check_reader(actor, cell.read, cell.written, address, bytes);
    else if (cell.write.async != 0 && me.async != 0)
      async_[me.async].unread = cell.write.async;
    cell.more.for_each([&](const Stamp& reader) { check_reader(actor, reader, cell.written, address, bytes); });
    cell.write = me;
    cell.read = {};
    cell.more.clear();
    cell.written = true;
    return;
  }
  if (!cell.read.exists()) {
    cell.read = me;
  } else if (cell.read.together(me)) {
    cell.read.lanes |= me.lanes;
  } else if (outlasts(actor, cell.read)) {
    cell.read = me;
  } else {
    cell.more.add(me, reader_lists_, [&](const Stamp& reader) { return outlasts(actor, reader); });
  }
}

// Asynchronous work on grains of a page that are kept by records.
void Judge::check_records(Actor& actor, ShadowPage& page, u64 address, u64 grains) {
  const Stamp& me = actor.stamp;
  // The first run of grains: what holds for a record holds for all of its grains.
  const auto run_of = [&](u64 common) {
    const u64 first = static_cast<u64>(std::countr_zero(common));
    return MemoryRange{address + first * ShadowPage::grain,
                       static_cast<u64>(std::countr_one(common >> first)) * ShadowPage::grain};
  };
  if (actor.reads)
    for (u64 unwritten = grains & ~page.written; unwritten != 0; unwritten &= unwritten + (unwritten & -unwritten)) {
      const MemoryRange run = run_of(unwritten);
      check_written(actor, run.address, run.bytes);
    }
  for (const Record& write : page.writes)
    if (const u64 common = write.grains & grains) {
      const MemoryRange run = run_of(common);
      const Stamp* reader = nullptr;
      if (actor.writes)
        for (const Record& read : page.reads)
          if ((common & ~read.grains) == 0) reader = &read.stamp;
      check_write(actor, write.stamp, reader, run.address, run.bytes);
    }
  if (actor.writes) {
    u64 unread = grains;
    for (const Record& read : page.reads)
      if (const u64 common = read.grains & grains) {
        unread &= ~common;
        const MemoryRange run = run_of(common);
        check_reader(actor, read.stamp, (page.written & common) != 0, run.address, run.bytes);
      }
    for (const Record& write : page.writes) {
      if ((write.grains & grains) != 0) async_[me.async].replaced = write.stamp.async;
      if ((write.grains & unread) != 0) async_[me.async].unread = write.stamp.async;
    }
    return;
  }
  // The shares of one piece of work come soon after each other; where they do not, two records serve as well as one.
  for (std::size_t i = page.reads.size(); i > 0 && i + warps_per_group > page.reads.size(); --i)
    if (Record& read = page.reads[i - 1]; read.stamp.async == me.async) {
      read.grains |= grains;
      return;
    }
  if (page.reads.size() >= page.most_reads) {
    for (Record& read : page.reads)
      if (outlasts(actor, read.stamp)) read.grains &= ~grains;
    std::erase_if(page.reads, [](const Record& read) { return read.grains == 0; });
    page.most_reads = std::max(page.most_reads, 2 * page.reads.size());
  }
  page.reads.push_back({grains, me});
}

// None where no block has this shared memory: the machine will say so.
Shadow* Judge::shadow_of(const Actor& actor, u64 address) {
  if (actor.tensor) {
    constexpr u64 block_bytes = u64{TensorMemory::lanes} * TensorMemory::columns * 4;
    return &state_of(*actor.warp.cluster().blocks[(address - tensor_window) / block_bytes]).tensor;
  }
  if (!is_shared(address)) return &global_;
  const u64 rank = (address - shared_window) >> shared_rank_shift;
  const auto& blocks = actor.warp.cluster().blocks;
  if (rank >= blocks.size()) return nullptr;
  const Block& owner = *blocks[rank];
  BlockState& state = state_of(owner);
  if (&owner != &actor.warp.block()) {
    if (actor.stamp.async == 0)
      remember_visit(owner, actor.stamp);
    else if (state.arriving.empty() || state.arriving.back() != actor.stamp.async)
      state.arriving.push_back(actor.stamp.async);
  }
  return &state.shared;
}

void Judge::check_range(Actor& actor, u64 address, u64 bytes) {
  looks_at(actor, address);
  Shadow* const shadow = shadow_of(actor, address);
  if (shadow == nullptr) return;
  if (actor.writes && actor.shared) check_barriers_under(actor, address, bytes);
  if (actor.writes && shadow == &global_) overwritten_.keep(address, bytes);
  shadow->for_each(address, bytes, actor.writes,
                   [&](Cell& cell, u64 at, u64 count) { check_cell(actor, cell, at, count); });
}

void Judge::check_footprint(Actor& actor, const Footprint& footprint) {
  for (const Footprint::Page& touched : footprint.pages()) {
    looks_at(actor, touched.address);
    Shadow* const shadow = shadow_of(actor, touched.address);
    if (shadow == nullptr) continue;
    ShadowPage& page = shadow->page(touched.address);
    for (u64 single = touched.grains & page.single; single != 0; single &= single - 1)
      check_range(actor, touched.address + static_cast<u64>(std::countr_zero(single)) * ShadowPage::grain,
                  ShadowPage::grain);
    if (const u64 others = touched.grains & ~page.single; others != 0)
      check_records(actor, page, touched.address, others);
    if (!actor.writes) continue;
    if (shadow == &global_) {
      const u64 first = static_cast<u64>(std::countr_zero(touched.grains)) * ShadowPage::grain;
      const u64 end = Footprint::page_bytes - static_cast<u64>(std::countl_zero(touched.grains)) * ShadowPage::grain;
      overwritten_.keep(touched.address + first, end - first);
    }
    if (actor.shared)
      for (u64 left = touched.grains; left != 0; left &= left + (left & -left)) {
        const auto first = static_cast<u64>(std::countr_zero(left));
        check_barriers_under(actor, touched.address + first * ShadowPage::grain,
                             static_cast<u64>(std::countr_one(left >> first)) * ShadowPage::grain);
      }
    page.overwrite(touched.grains, actor.stamp);
  }
  for (const MemoryRange& part : footprint.parts()) check_range(actor, part.address, part.bytes);
}

void Judge::remember_visit(const Block& owner, const Stamp& stamp) {
  LastOfEach& visitors = state_of(owner).visitors;
  if (visitors.add(stamp)) visitors.tidy([](const Stamp&) { return false; });
}

void Judge::check_local(const Warp& warp, u32 site, AccessKind kind, u64 address, u32 bytes, u32 lane) {
  const bool parameter = sites_.effect(site).space == AddressSpace::param;
  const u64 at = (u64{lane} << 32) + (address - local_window);
  bool unwritten = false;
  state_of(warp).local.for_each(at, bytes, kind == AccessKind::write, [&](Cell& cell, u64, u64) {
    unwritten |= kind != AccessKind::write && !cell.written;
    cell.written = true;
  });
  if (!unwritten || parameter || !warp.function()->entry) return;
  findings_.report(Flaw::uninitialised_read, site, 0, [&](Finding& finding) {
    finding.message = "local memory is read that the thread has not written";
    finding.help = "write it first; a local array holds nothing when a kernel starts";
    finding.places = {place(stamp(warp, 1u << lane, site),
                            fmt::format("reads byte {:#x} of its local memory", address - local_window))};
  });
}

void Judge::access(const Warp& warp, const Op& op, AccessKind kind, const u64* addresses, u32 bytes, u32 active) {
  const u32 number = site_of(warp, op);
  const Effect& effect = sites_.effect(number);
  if (effect.kind == Effect::Kind::copy) return;  // it tells of its accesses itself
  executed_.accesses += static_cast<u64>(std::popcount(active));
  advise(warp, number, kind, addresses, bytes, active);
  if (uses_tiles_ && is_shared(addresses[std::countr_zero(active)]))
    swizzles_.see(number, sites_.at(number), warp, addresses, active);
  WarpState& state = state_of(warp);
  // Lanes that are apart store at different times, however near.
  if (kind == AccessKind::write && active != warp.started()) state.clock.tick();
  for (u32 left = active; left != 0; left &= left - 1) {
    const u32 lane = static_cast<u32>(std::countr_zero(left));
    const u64 address = addresses[lane];
    if (in_window(address, local_window)) {
      check_local(warp, number, kind, address, bytes, lane);
      continue;
    }
    if (!is_shared(address) && !is_global(address)) continue;
    Actor actor{warp, state.clock.of_lane(lane), stamp(warp, 1u << lane, number)};
    actor.reads = kind != AccessKind::write;
    actor.writes = kind != AccessKind::read;
    check_range(actor, address, bytes);
    if (effect.compares && !doubtful_reads_.empty()) settle_reads(actor.stamp, address, bytes);
    if (effect.strong()) pass_flags(warp, effect, kind, address, lane);
  }
}

void Judge::access_range(const Warp& warp, AccessKind kind, const MemoryRange& range, u32 lane) {
  Actor actor{warp, state_of(warp).clock.of_lane(lane), stamp(warp, 1u << lane, running_)};
  actor.reads = kind == AccessKind::read;
  actor.writes = kind != AccessKind::read;
  if (is_shared(range.address) || is_global(range.address) || is_tensor(range.address))
    check_range(actor, range.address, range.bytes);
}

// Releases and acquires, and relaxed accesses with fences around them: a location keeps what its writers passed on.
void Judge::pass_flags(const Warp& warp, const Effect& effect, AccessKind kind, u64 address, u32 lane) {
  auto* flags = &flags_;
  if (is_shared(address)) {
    const u64 rank = (address - shared_window) >> shared_rank_shift;
    if (rank >= warp.cluster().blocks.size()) return;
    flags = &state_of(*warp.cluster().blocks[rank]).flags;
    address &= shared_offset_mask;
  }
  WarpState& state = state_of(warp);
  const u64 cluster = warp.cluster().id;
  const u32 block = number_of(warp.block());
  const u32 bit = 1u << lane;
  if (kind != AccessKind::write) {
    if (const auto found = flags->find(address); found != flags->end()) {
      const Flag& flag = found->second;
      const Scope between = flag.block == block       ? Scope::block
                            : flag.cluster == cluster ? Scope::cluster
                                                      : Scope::device;
      if (between <= flag.scope && between <= effect.scope) {
        const Clock message = flag.clock.fenced(fenced_at(between));
        if (!message.empty())
          state.clock.change(
              bit, [&](LaneClass& c) { (effect.acquires() ? c.clock : c.pending.from(between)).join(message); });
      }
    }
  }
  if (kind == AccessKind::read) return;
  Clock message;
  if (effect.releases()) {
    message = state.clock.release(bit);
    for (const Scope scope : {Scope::block, Scope::cluster, Scope::device})
      if (scope <= effect.scope)
        for (const Known known : {Known::data, Known::met, Known::told}) message.promote(known, fenced_at(scope));
  } else {
    message = state.clock.snapshot(bit).fenced(Known::fenced_block);  // whatever went through any fence
  }
  const auto found = flags->find(address);
  if (message.empty() && found == flags->end()) return;
  Flag& flag = found != flags->end() ? found->second : (*flags)[address];
  if (kind == AccessKind::atomic) message.join(flag.clock);
  flag = {std::move(message), effect.scope, block, cluster};
}

}  // namespace wm::vgpu::check
