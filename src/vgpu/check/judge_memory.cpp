// Accesses: races, reads of memory nobody wrote, flags that pass on what their writer knows, advice.
#include <algorithm>
#include <bit>
#include <cstring>

#include <fmt/format.h>

#include "vgpu/check/judge.hpp"
#include "vgpu/machine/access.hpp"

namespace wm::vgpu::check {

namespace {
constexpr std::size_t most_readers = 64;

Known fenced_at(Scope scope) {
  return scope == Scope::block     ? Known::fenced_block
         : scope == Scope::cluster ? Known::fenced_cluster
                                   : Known::fenced_device;
}
}  // namespace

bool Judge::ordered(const Actor& actor, const Stamp& before, Known way) const {
  u32 others = before.lanes;
  if (before.warp == actor.stamp.warp) {
    const u32 own = others & actor.stamp.lanes;
    const bool plain = way == Known::data || way == Known::reads || way == Known::control;
    if (plain || of(actor.knows.own, way) >= before.time) others &= ~own;
  }
  return others == 0 || actor.knows.clock.covers(before.warp, others, before.time, way);
}

// Whether its writes are done, for this actor to see.
bool Judge::async_ordered(const Actor& actor, u32 number, Known way) const {
  const AsyncWork& work = async_[number];
  return work.time != 0 && actor.knows.clock.time(async_line(work.line), way) >= work.time;
}

bool Judge::async_reads_ordered(const Actor& actor, u32 number) const {
  const AsyncWork& work = async_[number];
  return work.source_time != 0 &&
         actor.knows.clock.time(async_line(work.source_line), Known::reads) >= work.source_time;
}

// A copy that this actor does not know of has taken the place of a result that it does know of and that nobody had
// read: the copy came too early, not the reader.
bool Judge::overwrote_unread(const Actor& actor, const Stamp& write) const {
  const u32 unread = async_[write.async].unread;
  return unread != 0 && async_ordered(actor, unread, Known::data);
}

// Two atomic (relaxed, volatile) accesses whose scopes reach each other do not race.
bool Judge::conflict_is_strong(const Stamp& a, const Stamp& b) const {
  if (!a.strong || !b.strong) return false;
  if (a.warp / warps_per_block_ == b.warp / warps_per_block_) return true;
  return sites_.at(a.site).scope != Scope::block && sites_.at(b.site).scope != Scope::block;
}

void Judge::race(const Actor& actor, const Stamp& before, bool before_wrote, bool was_written, u64 address, u64 bytes) {
  const AsyncWork* const earlier = before.async != 0 ? &async_[before.async] : nullptr;
  const bool async = actor.stamp.async != 0;
  const char* const memory = actor.shared ? "shared" : "global";
  const bool fence_missing = before_wrote && actor.async_proxy &&
                             (earlier == nullptr ? ordered(actor, before, Known::data)
                                                 : earlier->generic && async_ordered(actor, before.async, Known::data));
  // A read of what a copy brings: in the order of this run, or, where memory held nothing yet, the other way round.
  const bool too_early = earlier != nullptr && before_wrote && !actor.writes && !overwrote_unread(actor, before);
  const bool before_it_was_sent = async && actor.writes && !before_wrote && !was_written;
  const char* const name = fence_missing                                   ? "missing-proxy-fence"
                           : too_early || before_it_was_sent               ? "read-before-arrival"
                           : earlier != nullptr || (async && actor.writes) ? "overwritten-in-use"
                           : actor.shared                                  ? "shared-race"
                                                                           : "global-race";
  if (!before_wrote && !was_written) explained_reads_.insert(before.site);
  report(name, actor.stamp.site, before.site, [&](Finding& finding) {
    if (fence_missing) {
      finding.message = fmt::format("{} {} memory that ordinary instructions wrote, with no fence.proxy.async between",
                                    actor.writes ? "a copy overwrites" : "asynchronous work reads", memory);
      finding.help = fmt::format(
          "each writing thread runs fence.proxy.async{} after its stores and before the barrier "
          "that lets this go on",
          actor.shared ? ".shared::cta" : ".global");
    } else if (too_early || before_it_was_sent) {
      const AsyncWork& copy = too_early ? *earlier : async_[actor.stamp.async];
      finding.message =
          fmt::format("{} memory is read, and nothing says that the copy that writes it has arrived", memory);
      finding.help = copy.signals
                         ? "every reading thread waits for the copy's mbarrier, or meets one that has"
                         : "the thread that issued the copy waits for its group, then a barrier tells the others";
    } else if (earlier != nullptr || (async && actor.writes)) {
      const bool overwritten = before_wrote && !actor.writes;  // what this reads is being replaced
      finding.message = fmt::format("{} memory is overwritten while {} may still be {} it", memory,
                                    earlier == nullptr || overwritten ? "a reader"
                                    : earlier->matrix                 ? "a wgmma"
                                                                      : "a copy",
                                    before_wrote && !overwritten ? "writing" : "reading");
      finding.help = earlier != nullptr && earlier->matrix
                         ? "wait with wgmma.wait_group before the memory is given back"
                     : earlier != nullptr && !earlier->signals
                         ? "the thread that issued the copy waits for its group (wait_group.read is enough for its "
                           "source), then a barrier tells the others"
                         : "the copy is issued after all readers have said that they are done";
    } else {
      finding.message = fmt::format("two accesses to {} memory are not ordered", memory);
      finding.help = actor.shared ? "a barrier between them that both threads take part in"
                                  : "a release by the first (or a fence and a flag) that the second acquires, both at "
                                    "device scope";
    }
    const std::string where = names_.memory(address, bytes);
    const auto words = [&](bool writes, bool goes_on) {
      return fmt::format("{} {}", writes ? (goes_on ? "writes" : "wrote") : (goes_on ? "reads" : "read"), where);
    };
    finding.places = {place(actor.stamp, words(actor.writes, true)),
                      place(before, words(before_wrote, earlier != nullptr))};
  });
}

bool Judge::is_unwritten(u64 address) const {
  const auto after = unwritten_.upper_bound(address);
  return after != unwritten_.begin() && address - std::prev(after)->first < std::prev(after)->second;
}

// Who still uses it is soon told of it; who comes later finds no memory there.
void Judge::freed(const MemoryRange& range) {
  constexpr std::size_t kept = 1024;
  unwritten_.erase(range.address);
  freed_.push_back(range);
  if (freed_.size() <= kept) return;
  global_.forget(freed_.front().address, freed_.front().bytes);
  freed_.pop_front();
}

// Reported at the end, unless somebody writes this memory without an order: then that is what is wrong.
void Judge::check_written(const Actor& actor, u64 address, u64 bytes) {
  if (actor.shared || is_unwritten(address))
    unwritten_reads_.try_emplace(actor.stamp.site, actor.stamp, address, bytes);
}

void Judge::check_write(Actor& actor, const Stamp& write, u64 address, u64 bytes) {
  const Stamp& me = actor.stamp;
  if (write.async != 0 ? write.async == actor.after : write.together(me)) return;
  if (conflict_is_strong(write, me)) return;
  if (write.async != 0) {
    // Word that its result has been read and may be overwritten is enough for who does not read it.
    const Known way = async_[write.async].generic ? actor.way() : actor.reads ? Known::data : Known::reads;
    if (async_ordered(actor, write.async, way)) {
      actor.after = write.async;
      return;
    }
  } else if (ordered(actor, write, actor.way())) {
    return;
  } else if (me.strong && !actor.writes &&
             actor.knows.pending.covers(write.warp, write.lanes, write.time, Known::data)) {
    return;  // a volatile read after a flag that was read with no fence behind it
  }
  if (sites_.at(write.site).atomic && is_plain_read(actor)) return doubt_read(me, write, address, bytes);
  const bool plain_pair = actor.writes && !actor.reads && me.async == 0 && write.async == 0;
  if (!plain_pair || bytes > sizeof(DoubtfulWrite::old)) return race(actor, write, true, true, address, bytes);
  const std::byte* at = actor.shared
                            ? actor.warp.cluster().blocks[locate(address).address >> shared_rank_shift]->shared.data() +
                                  (address & shared_offset_mask)
                            : run_.memory.at(address, bytes, "the judge");
  DoubtfulWrite doubtful{write, me, address, at, {}, static_cast<u32>(bytes)};
  std::memcpy(doubtful.old.data(), at, bytes);
  doubtful_.push_back(doubtful);
}

// An ordinary read beside an atomic operation. Loops of compare-and-swap begin with one: then it is no race, because
// the comparison would notice.
void Judge::doubt_read(const Stamp& reader, const Stamp& atomic, u64 address, u64 bytes) {
  for (u32 left = reader.lanes; left != 0; left &= left - 1)
    doubtful_reads_.try_emplace({reader.warp, std::countr_zero(left), address}, DoubtfulRead{reader, atomic, bytes});
}

void Judge::settle_reads(const Stamp& compare, u64 address, u64 bytes) {
  const int lane = std::countr_zero(compare.lanes);
  doubtful_reads_.erase(doubtful_reads_.lower_bound({compare.warp, lane, address}),
                        doubtful_reads_.lower_bound({compare.warp, lane, address + bytes}));
}

void Judge::report_doubtful_reads() {
  for (const auto& [key, read] : doubtful_reads_) {
    const u64 address = std::get<2>(key);
    report(is_shared(address) ? "shared-race" : "global-race", read.reader.site, read.atomic.site,
           [&](Finding& finding) {
             const std::string where = names_.memory(address, read.bytes);
             finding.message = "an ordinary read and an atomic operation are not ordered";
             finding.help = "read with ld.relaxed, or order the two";
             finding.places = {place(read.reader, "reads " + where), place(read.atomic, "changes " + where)};
           });
  }
}

void Judge::check_reader(const Actor& actor, const Stamp& reader, bool was_written, u64 address, u64 bytes) {
  if (reader.together(actor.stamp) || conflict_is_strong(reader, actor.stamp)) return;
  if (reader.async != 0 ? async_reads_ordered(actor, reader.async) : ordered(actor, reader, Known::reads)) return;
  if (sites_.at(actor.stamp.site).atomic && reader.async == 0 && !reader.strong)
    return doubt_read(reader, actor.stamp, address, bytes);
  const bool by_caller = !actor.shared && !is_unwritten(address);
  race(actor, reader, false, was_written || by_caller, address, bytes);
}

void Judge::check_cell(Actor& actor, Cell& cell, u64 address, u64 bytes) {
  const Stamp& me = actor.stamp;
  if (actor.reads && !cell.written) check_written(actor, address, bytes);
  if (cell.write.exists()) check_write(actor, cell.write, address, bytes);
  if (actor.writes) {
    if (cell.read.exists())
      check_reader(actor, cell.read, cell.written, address, bytes);
    else if (cell.write.async != 0 && me.async != 0)
      async_[me.async].unread = cell.write.async;
    for (const Stamp& reader : cell.more) check_reader(actor, reader, cell.written, address, bytes);
    cell.write = me;
    cell.read = {};
    cell.more.clear();
    cell.written = true;
    return;
  }
  // A read: it takes the place of one that it is ordered after.
  if (!cell.read.exists() ||
      (cell.read.async == 0 && me.async == 0 && !cell.read.together(me) && ordered(actor, cell.read, Known::reads))) {
    cell.read = me;
    return;
  }
  if (cell.read.together(me)) {
    cell.read.lanes |= me.lanes;
    return;
  }
  for (Stamp& other : cell.more)
    if (other.together(me)) {
      other.lanes |= me.lanes;
      return;
    }
  if (cell.more.size() < most_readers) cell.more.push_back(me);
}

// Asynchronous work on grains of a page that are kept by records.
void Judge::check_records(Actor& actor, ShadowPage& page, u64 address, u64 grains) {
  const Stamp& me = actor.stamp;
  const auto each = [&](u64 common, auto&& check) {
    const u64 first = static_cast<u64>(std::countr_zero(common)),
              count = static_cast<u64>(std::countr_one(common >> first));
    check(address + first * ShadowPage::grain, count * ShadowPage::grain);
  };
  if (const u64 unwritten = grains & ~page.written; actor.reads && unwritten != 0)
    each(unwritten, [&](u64 at, u64 bytes) { check_written(actor, at, bytes); });
  for (const Record& write : page.writes)
    if (const u64 common = write.grains & grains)
      each(common, [&](u64 at, u64 bytes) { check_write(actor, write.stamp, at, bytes); });
  if (actor.writes) {
    u64 unread = grains;
    for (const Record& read : page.reads)
      if (const u64 common = read.grains & grains) {
        unread &= ~common;
        each(common,
             [&](u64 at, u64 bytes) { check_reader(actor, read.stamp, (page.written & common) != 0, at, bytes); });
      }
    for (const Record& write : page.writes)
      if ((write.grains & unread) != 0) async_[me.async].unread = write.stamp.async;
    return;
  }
  for (Record& read : page.reads)
    if (read.stamp.async == me.async) {
      read.grains |= grains;
      return;
    }
  if (page.reads.size() < most_readers) page.reads.push_back({grains, me});
}

// Ordinary stores that nothing orders are no race where the second changed nothing.
void Judge::settle_writes() {
  for (const DoubtfulWrite& write : std::exchange(doubtful_, {})) {
    if (std::memcmp(write.old.data(), write.place, write.bytes) == 0) continue;
    const bool shared = is_shared(write.address);
    report(shared ? "shared-race" : "global-race", write.after.site, write.before.site, [&](Finding& finding) {
      finding.message = fmt::format("two stores to {} memory are not ordered", shared ? "shared" : "global");
      finding.help = "a barrier between them, or an atomic operation";
      finding.places = {place(write.after, "writes " + names_.memory(write.address, write.bytes)),
                        place(write.before, "wrote " + names_.memory(write.address, write.bytes))};
    });
  }
}

// None where no block has this shared memory: the machine will say so.
Shadow* Judge::shadow_of(const Actor& actor, u64 address) {
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
  actor.shared = is_shared(address);
  Shadow* const shadow = shadow_of(actor, address);
  if (shadow == nullptr) return;
  shadow->for_each(address, bytes, actor.writes,
                   [&](Cell& cell, u64 at, u64 count) { check_cell(actor, cell, at, count); });
}

void Judge::check_footprint(Actor& actor, const Footprint& footprint) {
  for (const Footprint::Page& touched : footprint.pages()) {
    actor.shared = is_shared(touched.address);
    Shadow* const shadow = shadow_of(actor, touched.address);
    if (shadow == nullptr) continue;
    ShadowPage& page = shadow->page(touched.address);
    for (u64 single = touched.grains & page.single; single != 0; single &= single - 1)
      check_range(actor, touched.address + static_cast<u64>(std::countr_zero(single)) * ShadowPage::grain,
                  ShadowPage::grain);
    if (const u64 others = touched.grains & ~page.single; others != 0)
      check_records(actor, page, touched.address, others);
    if (actor.writes) page.overwrite(touched.grains, actor.stamp);
  }
  for (const MemoryRange& part : footprint.parts()) check_range(actor, part.address, part.bytes);
}

void Judge::remember_visit(const Block& owner, const Stamp& stamp) { state_of(owner).visitors[stamp.warp] = stamp; }

void Judge::check_local(const Warp& warp, u32 site, AccessKind kind, u64 address, u32 bytes, u32 lane) {
  const auto& modifiers = sites_.at(site).instruction->modifiers;
  const bool parameter =
      std::any_of(modifiers.begin(), modifiers.end(), [](const std::string& m) { return m.starts_with("param"); });
  const u64 at = (u64{lane} << 32) + (address - local_window);
  bool unwritten = false;
  state_of(warp).local.for_each(at, bytes, kind == AccessKind::write, [&](Cell& cell, u64, u64) {
    unwritten |= kind != AccessKind::write && !cell.written;
    cell.written = true;
  });
  if (!unwritten || parameter || !warp.function()->entry) return;
  report("uninitialised-read", site, 0, [&](Finding& finding) {
    finding.message = "local memory is read that the thread has not written";
    finding.help = "write it first; a local array holds nothing when a kernel starts";
    finding.places = {place(stamp(warp, 1u << lane, site),
                            fmt::format("reads byte {:#x} of its local memory", address - local_window))};
  });
}

void Judge::access(const Warp& warp, const Op& op, AccessKind kind, const u64* addresses, u32 bytes, u32 active) {
  const u32 number = site_of(warp, op);
  const Site& site = sites_.at(number);
  if (site.copy) return;
  executed_.accesses += static_cast<u64>(std::popcount(active));
  advise(number, kind, addresses, bytes, active);
  const WarpState& state = state_of(warp);
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
    if (site.compares && !doubtful_reads_.empty()) settle_reads(actor.stamp, address, bytes);
    if (site.strong) pass_flags(warp, site, kind, address, lane);
  }
}

void Judge::access_range(const Warp& warp, AccessKind kind, const MemoryRange& range, u32 lane) {
  Actor actor{warp, state_of(warp).clock.of_lane(lane), stamp(warp, 1u << lane, running_)};
  actor.reads = kind == AccessKind::read;
  actor.writes = kind != AccessKind::read;
  if (is_shared(range.address) || is_global(range.address)) check_range(actor, range.address, range.bytes);
}

// Releases and acquires, and relaxed accesses with fences around them: a location keeps what its writers passed on.
void Judge::pass_flags(const Warp& warp, const Site& site, AccessKind kind, u64 address, u32 lane) {
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
      if (between <= flag.scope && between <= site.scope) {
        const Clock message = flag.clock.fenced(fenced_at(between));
        if (!message.empty())
          state.clock.change(bit, [&](LaneClass& c) { (site.acquire ? c.clock : c.pending).join(message); });
      }
    }
  }
  if (kind == AccessKind::read) return;
  Clock message;
  if (site.release) {
    message = state.clock.release(bit);
    for (const Scope scope : {Scope::block, Scope::cluster, Scope::device})
      if (scope <= site.scope) message.promote(Known::data, fenced_at(scope));
  } else {
    message = state.clock.snapshot(bit).fenced(Known::fenced_block);  // whatever went through any fence
  }
  const auto found = flags->find(address);
  if (message.empty() && found == flags->end()) return;
  Flag& flag = found != flags->end() ? found->second : (*flags)[address];
  if (kind == AccessKind::atomic) message.join(flag.clock);
  flag = {std::move(message), site.scope, block, cluster};
}

// Bank conflicts of shared memory, and sectors of global memory, a warp's access at a time.
void Judge::advise(u32 site, AccessKind kind, const u64* addresses, u32 bytes, u32 active) {
  if (kind == AccessKind::atomic || std::popcount(active) < 8) return;
  const u64 first = addresses[std::countr_zero(active)];
  const bool shared = is_shared(first);
  if (!shared && !is_global(first)) return;
  std::array<u64, 128> pieces;  // words or sectors
  std::size_t count = 0;
  const u64 unit = shared ? 4 : 32;
  for (u32 left = active; left != 0; left &= left - 1) {
    const u64 at = addresses[std::countr_zero(left)];
    for (u64 piece = at / unit; piece <= (at + bytes - 1) / unit && count < pieces.size(); ++piece)
      pieces[count++] = piece;
  }
  std::sort(pieces.begin(), pieces.begin() + count);
  count = static_cast<std::size_t>(std::unique(pieces.begin(), pieces.begin() + count) - pieces.begin());
  Advice& advice = (shared ? conflicts_ : scattered_)[site];
  ++advice.executed;
  if (!shared) {
    advice.ideal += (static_cast<u64>(std::popcount(active)) * bytes + 31) / 32;
    advice.actual += count;
    return;
  }
  std::array<u32, 32> turns{};
  u32 most = 0;
  for (std::size_t i = 0; i < count; ++i) most = std::max(most, ++turns[pieces[i] % 32]);
  advice.ideal += std::max<u64>(1, (count + 31) / 32);
  advice.actual += most;
}

}  // namespace wm::vgpu::check
