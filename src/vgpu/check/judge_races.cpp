// Pairs of accesses: which are ordered, which race and how that is told; reads of memory that nobody wrote.
#include <algorithm>
#include <bit>
#include <cstring>

#include <fmt/format.h>

#include "vgpu/check/judge.hpp"
#include "vgpu/machine/access.hpp"

namespace wm::vgpu::check {

bool Judge::ordered(const Actor& actor, const Stamp& before, Known way) const {
  u32 others = before.lanes;
  if (before.warp == actor.stamp.warp) {
    const u32 own = others & actor.stamp.lanes;
    const bool plain = way == Known::data || way == Known::reads || way == Known::control || way == Known::met ||
                       way == Known::told || way == Known::relied;
    if (plain || of(actor.knows.own, way) >= before.time) others &= ~own;
  }
  return others == 0 || actor.knows.clock.covers(before.warp, others, before.time, way);
}

// Whether its writes are done, for this actor to see.
bool Judge::async_ordered(const Actor& actor, u32 number, Known way) const {
  const AsyncWork& work = async_[number];
  if (follows_in_order(actor, work)) return true;
  if (work.time != 0 && actor.knows.clock.time(async_line(work.line), way) >= work.time) return true;
  return follows_by_fences(actor, work);
}

bool Judge::async_reads_ordered(const Actor& actor, u32 number) const {
  const AsyncWork& work = async_[number];
  if (follows_in_order(actor, work)) return true;
  if (work.source_time != 0 &&
      actor.knows.clock.time(async_line(work.source_line), actor.way_of_reads()) >= work.source_time)
    return true;
  return follows_by_fences(actor, work);
}

// A copy that this actor does not know of has taken the place of a result that it does know of, and nobody had read
// that or the copy's issuer had no word from this actor since it waited for it: the copy came too early, not the
// reader.
bool Judge::came_too_early(const Actor& actor, const Stamp& write) {
  const AsyncWork& copy = async_[write.async];
  if (copy.unread != 0 && async_ordered(actor, copy.unread, Known::data)) return true;
  if (copy.replaced == 0 || !async_ordered(actor, copy.replaced, Known::data)) return false;
  const u64 address = async_[copy.replaced].barrier;
  const Mbarrier* const barrier = address != 0 ? find_mbarrier(actor.warp.cluster(), address) : nullptr;
  if (barrier == nullptr) return false;
  const u32 warp = actor.stamp.warp, lanes = actor.stamp.lanes;
  const auto heard = barrier->heard.find(warp);
  if (heard == barrier->heard.end() || (heard->second.lanes & lanes) == 0) return false;
  const u32 since = heard->second.time;
  if (copy.issue.warp == warp && (copy.issue.lanes & lanes) != 0) return copy.issue.time <= since;
  const u32 lane = static_cast<u32>(std::countr_zero(copy.issue.lanes));
  return !state_of(copy.issue.warp).clock.of_lane(lane).clock.covers_any(warp, lanes, since, Known::control);
}

Scope Judge::distance(u32 warp, u32 other) const {
  const u32 block = warp / warps_per_block_, other_block = other / warps_per_block_;
  if (block == other_block) return Scope::block;
  const Dim3 a = id_of(block), b = id_of(other_block), &cluster = run_.shape.cluster;
  const bool together =
      a.x / cluster.x == b.x / cluster.x && a.y / cluster.y == b.y / cluster.y && a.z / cluster.z == b.z / cluster.z;
  return together ? Scope::cluster : Scope::device;
}

// Two atomic (relaxed, volatile) accesses whose scopes reach each other do not race.
bool Judge::conflict_is_strong(const Stamp& a, const Stamp& b) const {
  if (!a.strong || !b.strong) return false;
  const Scope between = distance(a.warp, b.warp);
  return between <= sites_.effect(a.site).scope && between <= sites_.effect(b.site).scope;
}

// Whether the two would be ordered if wgmma brought together the lanes and warps that execute it.
std::optional<Omission> Judge::relies_on_product(const Actor& actor, const Stamp& before, bool before_wrote) const {
  if (!actor.shared) return std::nullopt;
  const Stamp& me = actor.stamp;
  // A product and an ordinary access of one of its warps: the product begins when all four have issued their shares.
  const bool product_now = me.async != 0 && async_[me.async].matrix, product_before = before.async != 0;
  if (product_now != product_before) {
    const AsyncWork& product = async_[product_now ? me.async : before.async];
    const u32 other = (product_now ? before : me).warp;
    const auto group_of = [&](u32 warp) { return warp % warps_per_block_ / warps_per_group; };
    const bool same_group = other / warps_per_block_ == product.issue.warp / warps_per_block_ &&
                            group_of(other) == group_of(product.issue.warp);
    if (!product.matrix || !same_group || (product_before && me.async != 0)) return std::nullopt;
    const u32 share = product.shares[other % warps_per_block_ % warps_per_group];
    const bool before_its_share = share == 0 || (product_now && before.time <= share);
    return before_its_share ? std::optional(Omission::warps_of_product) : std::nullopt;
  }
  if (before.async != 0) return std::nullopt;
  const Known told = actor.async_proxy ? Known::told_proxy : Known::told;  // __syncwarp() is no proxy fence
  if (ordered(actor, before, before_wrote ? told : Known::met)) return Omission::lanes_together;
  if (!ordered(actor, before, Known::relied)) return std::nullopt;
  if (before_wrote && (actor.async_proxy || distance(me.warp, before.warp) != Scope::block)) return std::nullopt;
  const bool lane_known = actor.knows.clock.covers_any(before.warp, all_lanes, before.time, Known::reads);
  return lane_known || before.warp == me.warp ? Omission::lanes_of_product : Omission::warps_of_product;
}

// Whether it has waited for the message, at the scope of its own block.
std::optional<Omission> Judge::relies_on_message(const Actor& actor, const Stamp& before) const {
  if (before.async == 0 || actor.async_proxy) return std::nullopt;
  const AsyncWork& message = async_[before.async];
  const bool waited = message.from_peer && message.time != 0 &&
                      actor.knows.clock.time(async_line(message.line), Known::told) >= message.time;
  return waited ? std::optional(Omission::message_scope) : std::nullopt;
}

// Whether asynchronous work would be ordered if arrivals at another block's barrier were of cluster scope, and waits
// for them: the default is the block.
std::optional<Omission> Judge::relies_on_arrival(const Actor& actor, const Stamp& before, bool before_wrote) const {
  if (!before_wrote || actor.stamp.async == 0 || !(actor.shared || actor.tensor)) return std::nullopt;
  if (before.async == 0) {
    const bool told = ordered(actor, before, actor.async_proxy ? Known::peer_proxy : Known::peer);
    return told ? std::optional(Omission::arrival_scope) : std::nullopt;
  }
  const AsyncWork& work = async_[before.async];
  const bool told = work.time != 0 && actor.knows.clock.time(async_line(work.line), Known::peer) >= work.time;
  return told ? std::optional(Omission::arrival_scope) : std::nullopt;
}

void Judge::race(const Actor& actor, const Stamp& before, bool before_wrote, bool was_written, u64 address, u64 bytes) {
  const AsyncWork* const earlier = before.async != 0 ? &async_[before.async] : nullptr;
  const bool async = actor.stamp.async != 0;
  const char* const memory = actor.shared ? "shared" : "global";  // tensor memory has words of its own
  const bool fence_missing = before_wrote && actor.async_proxy &&
                             (earlier == nullptr ? ordered(actor, before, Known::data)
                                                 : earlier->generic && async_ordered(actor, before.async, Known::data));
  // A read of what a copy brings: in the order of this run, or, where memory held nothing yet, the other way round.
  const bool too_early = earlier != nullptr && before_wrote && !actor.writes && !came_too_early(actor, before);
  const bool before_it_was_sent = async && actor.writes && !before_wrote && !was_written;
  const AsyncWork& own = async_[actor.stamp.async];
  const bool cp_async_to_product =
      fence_missing && earlier != nullptr && !earlier->signals && (own.matrix || (own.tensor && !actor.writes));
  const bool word_of_allocation =
      fence_missing && actor.writes && earlier == nullptr && sites_.effect(before.site).allocates;
  std::optional<Omission> by_wait = relies_on_use(actor, before, before_wrote);
  if (!by_wait) by_wait = relies_on_message(actor, before);
  if (!by_wait) by_wait = relies_on_arrival(actor, before, before_wrote);
  const std::optional<Omission> omission = cp_async_to_product  ? std::optional(Omission::cp_async_fence)
                                           : word_of_allocation ? std::optional(Omission::word_fence)
                                           : fence_missing      ? std::nullopt
                                           : by_wait            ? by_wait
                                                                : relies_on_product(actor, before, before_wrote);
  const bool by_product = omission && !by_wait && !fence_missing;
  const Flaw flaw = by_product                                      ? Flaw::shared_race
                    : fence_missing                                 ? Flaw::missing_proxy_fence
                    : too_early || before_it_was_sent               ? Flaw::read_before_arrival
                    : earlier != nullptr || (async && actor.writes) ? Flaw::overwritten_in_use
                    : actor.shared                                  ? Flaw::shared_race
                                                                    : Flaw::global_race;
  if (!before_wrote && !was_written) explained_reads_.insert(before.site);
  findings_.report(flaw, omission, actor.stamp.site, before.site, [&](Finding& finding) {
    if (actor.tensor) {
      describe_tensor_race(finding, before_it_was_sent ? actor.stamp.async : before.async, before_wrote,
                           too_early || before_it_was_sent);
    } else if (by_product) {
      const bool warps = omission == Omission::warps_of_product;
      finding.message =
          omission == Omission::lanes_together
              ? "two accesses to shared memory are ordered only by lanes that exchange or use registers together"
              : fmt::format("two accesses to shared memory are ordered only if wgmma brings {} together",
                            warps ? "its four warps" : "the lanes of a warp");
      finding.help = warps ? "a barrier of the warpgroup's 128 threads between them"
                           : "__syncwarp() before one lane speaks for its warp";
    } else if (fence_missing) {
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
      if (copy.from_peer)
        finding.help =
            "every reading thread waits for the mbarrier at cluster scope (mbarrier.try_wait.acquire.cluster): the "
            "message comes from another block";
      else if (!copy.signals)
        finding.help = "the thread that issued the copy waits for its group, then a barrier tells the others";
    } else if (earlier != nullptr || (async && actor.writes)) {
      const bool overwritten = before_wrote && !actor.writes;  // what this reads is being replaced
      finding.message = fmt::format("{} memory is overwritten while {} may still be {} it", memory,
                                    overwritten          ? "a reader"
                                    : earlier == nullptr ? (before_wrote ? "a thread" : "a reader")
                                    : earlier->matrix    ? "a wgmma"
                                    : earlier->tensor    ? "a product"
                                                         : "a copy",
                                    before_wrote && !overwritten ? "writing" : "reading");
      if (earlier != nullptr && earlier->matrix)
        finding.help = "wait with wgmma.wait_group before the memory is given back";
      else if (earlier != nullptr && earlier->tensor)
        finding.help = "whoever overwrites it waits for the mbarrier of a tcgen05.commit that follows the product";
      else if (earlier != nullptr && !earlier->signals)
        finding.help =
            "the thread that issued the copy waits for its group (wait_group.read is enough for its source), then a "
            "barrier tells the others";
    } else if (before_wrote && actor.knows.pending.covers(before.warp, before.lanes, before.time, Known::data)) {
      finding.message =
          fmt::format("two accesses to {} memory are not ordered: nothing acquires what orders them", memory);
      finding.help = distance(actor.stamp.warp, before.warp) == Scope::cluster
                         ? "wait at cluster scope (mbarrier.try_wait.acquire.cluster), or fence at that scope after it"
                         : "a fence after the flag is read, of a scope that holds both threads";
    }
    if (omission == Omission::arrival_scope)
      finding.help = "arrive at cluster scope (mbarrier.arrive.release.cluster), and wait there";
    const std::string where = names_.memory(address, bytes);
    const auto words = [&](bool writes, bool goes_on) {
      return fmt::format("{} {}", writes ? (goes_on ? "writes" : "wrote") : (goes_on ? "reads" : "read"), where);
    };
    finding.places = {place(actor.stamp, words(actor.writes, true)),
                      place(before, words(before_wrote, earlier != nullptr))};
  });
}

// What memory holds there; null where there is none, or no longer: the machine will say so.
const std::byte* Judge::bytes_at(const Actor& actor, u64 address, u64 bytes) const {
  if (!actor.shared) {
    const Region region = run_.memory.find(address);
    return region.holds(address, bytes) ? region.host + (address - region.address) : nullptr;
  }
  const u64 rank = (address - shared_window) >> shared_rank_shift, offset = address & shared_offset_mask;
  const auto& blocks = actor.warp.cluster().blocks;
  if (rank >= blocks.size() || offset + bytes > blocks[rank]->shared.size()) return nullptr;
  return blocks[rank]->shared.data() + offset;
}

// What came before a read is passed on with the word that this has been read; to asynchronous work by its own reads
// only, whose fence then stood between.
bool Judge::passed_on(const Actor& actor, const Stamp* reader) const {
  if (reader == nullptr || !actor.writes || actor.reads || (actor.async_proxy && reader->async == 0)) return false;
  return reader->async != 0 ? async_reads_ordered(actor, reader->async) : ordered(actor, *reader, Known::reads);
}

// `reader`: one that has read it since.
void Judge::check_write(Actor& actor, const Stamp& write, const Stamp* reader, u64 address, u64 bytes) {
  const Stamp& me = actor.stamp;
  if (write.async != 0 ? write.async == actor.after : write.together(me)) return;
  if (conflict_is_strong(write, me)) return;
  if (write.async != 0) {
    // Word that its result has been read and may be overwritten is enough for who does not read it.
    const bool proxies_differ = async_[write.async].generic && actor.async_proxy;
    const Known way = proxies_differ ? actor.way() : actor.reads ? Known::data : actor.way_of_reads();
    if (async_ordered(actor, write.async, way)) {
      actor.after = write.async;
      if (actor.reads) check_layout(actor, write);
      if (actor.tensor) check_tensor_fence(actor, write, true, address, bytes);
      return;
    }
    const u32 twin = async_[write.async].twin;
    if (twin != 0 && me.async != 0 && twin == async_[me.async].twin) return;
  } else if (ordered(actor, write, actor.way())) {
    if (actor.layout != nullptr && actor.reads) check_layout(actor, write);
    return;
  } else if (me.strong && !actor.writes &&
             actor.knows.pending.covers(write.warp, write.lanes, write.time, Known::data)) {
    return;  // a volatile read after a flag that was read with no fence behind it
  }
  if (passed_on(actor, reader)) return;
  if (is_atomic(write) && is_plain_read(actor)) return doubt_read(me, write, address, bytes);
  const bool plain_pair = actor.writes && !actor.reads && me.async == 0 && write.async == 0;
  const std::byte* const at = plain_pair ? bytes_at(actor, address, bytes) : nullptr;
  if (at == nullptr || bytes > sizeof(DoubtfulWrite::old)) return race(actor, write, true, true, address, bytes);
  DoubtfulWrite doubtful{write, me, address, at, {}, static_cast<u32>(bytes), relies_on_product(actor, write, true)};
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
  for (const auto& [key, read] : std::exchange(doubtful_reads_, {})) {
    const u64 address = std::get<2>(key);
    // clang 14 captures bindings only by name.
    findings_.report(is_shared(address) ? Flaw::shared_race : Flaw::global_race, read.reader.site, read.atomic.site,
                     [&, &read = read](Finding& finding) {
                       const std::string where = names_.memory(address, read.bytes);
                       finding.message = "an ordinary read and an atomic operation are not ordered";
                       finding.help = "read with ld.relaxed, or order the two";
                       finding.places = {place(read.reader, "reads " + where), place(read.atomic, "changes " + where)};
                     });
  }
}

void Judge::check_reader(const Actor& actor, const Stamp& reader, bool was_written, u64 address, u64 bytes) {
  if (reader.together(actor.stamp) || conflict_is_strong(reader, actor.stamp)) return;
  if (reader.async != 0 ? async_reads_ordered(actor, reader.async) : ordered(actor, reader, Known::reads)) {
    if (actor.tensor) check_tensor_fence(actor, reader, false, address, bytes);
    return;
  }
  if (is_atomic(actor.stamp) && reader.async == 0 && !reader.strong)
    return doubt_read(reader, actor.stamp, address, bytes);
  const bool by_caller = !actor.shared && !actor.tensor && !is_unwritten(address);
  race(actor, reader, false, was_written || by_caller, address, bytes);
}

void Judge::lanes_differ(const Warp& warp, const Op& op, u32 lane, u64 address, u32 bytes) {
  const bool shared = is_shared(address);
  if (!shared && !is_global(address)) return;
  const u32 site = site_of(warp, op);
  findings_.report(shared ? Flaw::shared_race : Flaw::global_race, site, site, [&](Finding& finding) {
    finding.message = "lanes of one warp store different values to one address with one instruction";
    finding.help = "one lane stores, or an atomic operation";
    finding.places = {place(
        stamp(warp, 1u << lane, site),
        fmt::format("lane {} writes {}, and a later lane another value there", lane, names_.memory(address, bytes)))};
  });
}

// Ordinary stores that nothing orders are no race where the second changed nothing.
void Judge::settle_writes() {
  for (const DoubtfulWrite& write : std::exchange(doubtful_, {})) {
    if (std::memcmp(write.old.data(), write.place, write.bytes) == 0) continue;
    const bool shared = is_shared(write.address);
    findings_.report(shared ? Flaw::shared_race : Flaw::global_race, write.omission, write.after.site,
                     write.before.site, [&](Finding& finding) {
                       finding.message =
                           fmt::format("two stores to {} memory are not ordered", shared ? "shared" : "global");
                       finding.help = "a barrier between them, or an atomic operation";
                       finding.places = {place(write.after, "writes " + names_.memory(write.address, write.bytes)),
                                         place(write.before, "wrote " + names_.memory(write.address, write.bytes))};
                     });
  }
}

}  // namespace wm::vgpu::check
