// cp.async: small copies from global to shared memory, in groups; and the choice among all cp instructions.
#include <bit>
#include <cstring>

#include <fmt/format.h>

#include "vgpu/isa/async_copy.hpp"
#include "vgpu/isa/copies.hpp"
#include "vgpu/isa/families.hpp"
#include "vgpu/isa/lanes.hpp"
#include "vgpu/isa/memory_operands.hpp"
#include "vgpu/machine/access.hpp"

namespace wm::vgpu::isa {

using ptx::OperandKind;
using ptx::Type;

namespace {

struct SmallCopy {
  Address to, from;
  AddressSpace to_space = AddressSpace::shared;
  u32 bytes = 4;
  bool sized = false;  // `count` says how many bytes come from memory, the rest is zero
  Operand count;
  bool ignorable = false;
  Predicate ignore;  // all of it is zero
};

// One instruction's copies of all its lanes.
class WarpCopy final : public AsyncOperation {
 public:
  struct Lane {
    std::byte* to;
    const std::byte* from;
    u64 device_address;  // of `from`, which the kernel may free meanwhile
    u32 count;
    Membership membership;
  };
  WarpCopy(const Origin& from, u32 bytes) : AsyncOperation(from), bytes_(bytes) {}
  void add(const Lane& lane) { lanes_.push_back(lane); }
  bool advance(Cluster& cluster, Random* dice) override {
    std::size_t portion = dice ? 1 + dice->below(static_cast<u32>(lanes_.size())) : lanes_.size();
    for (; portion > 0; --portion) {
      Lane lane = lanes_.back();
      lanes_.pop_back();
      if (is_heap(lane.device_address) && lane.count > 0)
        region_of(cluster.run->memory, lane.device_address, lane.count, "cp.async");
      std::memcpy(lane.to, lane.from, lane.count);
      std::memset(lane.to + lane.count, 0, bytes_ - lane.count);
      lane.membership.done();
    }
    return lanes_.empty();
  }

 private:
  u32 bytes_;
  std::vector<Lane> lanes_;
};

// The arrival of cp.async.mbarrier.arrive: after all copies that its lane issued before.
class CopyArrival final : public AsyncOperation {
 public:
  CopyArrival(const Origin& from, u64 address) : AsyncOperation(from), address_(address) {}
  bool advance(Cluster& cluster, Random*) override {
    mbarrier::arrive_async(cluster, address_, 1, watched);
    return true;
  }

 private:
  u64 address_;
};

// Copies of one warp and the arrivals that follow them keep their order.
u64 stream_of(const Warp& warp) { return reinterpret_cast<u64>(&warp); }

Step copy_op(Warp& warp, const Op& op, u32 active) {
  const auto& c = op.as<SmallCopy>();
  LaneAddresses to, from;
  lane_addresses(warp, c.to, to);
  lane_addresses(warp, c.from, from);
  auto operation = std::make_unique<WarpCopy>(Origin::of(warp, std::countr_zero(active)), c.bytes);
  const u32 ignored = c.ignorable ? warp.predicate(c.ignore) : 0;
  u32 reading = 0;
  std::array<u32, lanes_per_warp> counts;
  for_each_lane(active, [&](u32 i) {
    counts[i] = ignored >> i & 1 ? 0 : c.sized ? warp.source32(c.count)[i] : c.bytes;
    if (counts[i] > c.bytes)
      warp.fault(fmt::format("cp.async is to read {} bytes and to write {}", counts[i], c.bytes), i);
    reading |= static_cast<u32>(counts[i] > 0) << i;
  });
  LaneBytes target, source;
  resolve(warp, op, c.to_space, to, c.bytes, c.bytes, AccessKind::write, active, target);
  if (c.sized || c.ignorable) {  // sources of zero bytes may be anything
    for_each_lane(reading, [&](u32 i) {
      source.at[i] = resolve_one(warp, AddressSpace::global, from[i], counts[i], c.bytes, AccessKind::read, i);
    });
  } else {
    resolve(warp, op, AddressSpace::global, from, c.bytes, c.bytes, AccessKind::read, active, source);
  }
  if (Observer* observer = warp.launch().observer)
    for_each_lane(active, [&](u32 i) {
      CopyIssue issue;
      issue.writes.add(shared_window + to[i], c.bytes);
      if (counts[i] > 0) issue.reads.add(from[i], counts[i]);
      observer->copy_issued(warp, i, issue);
    });
  for_each_lane(active, [&](u32 i) {
    operation->add({target.at[i], counts[i] > 0 ? source.at[i] : target.at[i], from[i], counts[i], {warp.copies, i}});
  });
  operation->stream = stream_of(warp);
  warp.cluster().async.issue(warp.cluster(), std::move(operation));
  return Step::go;
}

Step commit_op(Warp& warp, const Op&, u32 active) {
  for_each_lane(active, [&](u32 i) { warp.copies.of(i).commit(); });
  return Step::go;
}

Step wait_op(Warp& warp, const Op& op, u32 active) {
  const u32 pending = warp.effect(op).count;
  if (warp.copies.at_most(pending, active, false)) return Step::go;
  Wait w;
  w.kind = WaitKind::copy_groups;
  w.index = pending;
  return warp.wait(w, active);
}

Step wait_all_op(Warp& warp, const Op& op, u32 active) {
  if (!warp.resumed) commit_op(warp, op, active);
  return wait_op(warp, op, active);
}

struct ArriveOperands {
  Address address;
  AddressSpace space;
  bool no_increment;
};
Step arrive_op(Warp& warp, const Op& op, u32 active) {
  const auto& a = op.as<ArriveOperands>();
  LaneAddresses addresses;
  lane_addresses(warp, a.address, addresses);
  for_each_lane(active, [&](u32 i) {
    std::byte* place = resolve_one(warp, a.space, addresses[i], 8, 8, AccessKind::atomic, i);
    u64 address = addresses[i];
    if (a.space == AddressSpace::generic) {
      if (locate(address).space != AddressSpace::shared_cluster) warp.fault("an mbarrier lies in shared memory", i);
      address = locate(address).address;
    }
    u64 word;
    std::memcpy(&word, place, 8);
    mbarrier::Fields f = mbarrier::unpack(word);
    if (!f.valid)
      warp.fault(fmt::format("the mbarrier at {:#x} is not initialised", address), i, fault::barrier_not_initialised);
    if (!a.no_increment) {
      if (f.pending == mbarrier::most_arrivals) warp.fault("the mbarrier cannot count more arrivals", i);
      ++f.pending;
      word = mbarrier::pack(f);
      std::memcpy(place, &word, 8);
    }
    auto arrival = std::make_unique<CopyArrival>(Origin::of(warp, i), address);
    if (Observer* observer = warp.launch().observer)
      arrival->watched = observer->arrival_issued(warp, i, address, !a.no_increment);
    arrival->stream = stream_of(warp);
    warp.cluster().async.issue(warp.cluster(), std::move(arrival));
  });
  return Step::go;
}

void decode_copy(FunctionDecoder& d) {
  const int cache = d.modifiers.take_one_of({"ca", "cg"});
  if (cache < 0) d.refuse("it is cp.async.ca or cp.async.cg");
  SmallCopy c;
  c.to_space = take_space_first(d);
  if (c.to_space != AddressSpace::shared || take_space_first(d) != AddressSpace::global)
    d.refuse("it copies from .global to .shared");
  const bool hint = d.modifiers.take("L2::cache_hint");
  d.modifiers.take_one_of({"L2::64B", "L2::128B", "L2::256B"});
  d.expect_operands(hint ? 4 : 3, hint ? 5 : 4);
  c.to = d.address(d.operand(0), AddressSpace::shared);
  c.from = d.address(d.operand(1), AddressSpace::global);
  const i64 bytes = d.constant(d.operand(2), "the number of bytes");
  if (bytes != 4 && bytes != 8 && bytes != 16) d.refuse("it copies 4, 8 or 16 bytes");
  if (cache == 1 && bytes != 16) d.refuse("cp.async.cg copies 16 bytes");
  c.bytes = static_cast<u32>(bytes);
  std::size_t next = 3;
  if (d.operands() - (hint ? 1 : 0) > 3) {
    const ptx::Operand& extra = d.operand(next++);
    if (extra.kind == OperandKind::reg && d.type_of(extra) == Type::pred) {
      c.ignorable = true;
      c.ignore = d.predicate(extra);
    } else {
      c.sized = true;
      c.count = d.source(extra, Type::u32);
    }
  }
  if (hint) d.source(d.operand(next), Type::b64);
  d.emit(&copy_op, Effect::copy(Proxy::generic, Completion::copy_groups), c);
}

void decode_arrive(FunctionDecoder& d) {
  if (!d.modifiers.take("arrive")) d.refuse("it is cp.async.mbarrier.arrive");
  ArriveOperands a;
  a.no_increment = d.modifiers.take("noinc");
  a.space = take_space(d);
  if (d.modifiers.take_type() != Type::b64) d.refuse("its type is .b64");
  d.expect_operands(1);
  a.address = d.address(d.operand(0), a.space);
  d.emit(&arrive_op, Effect::copy_arrival(), a);
}

}  // namespace

void copy_family(FunctionDecoder& d) {
  const bool reduce = d.modifiers.take("reduce");
  if (!d.modifiers.take("async")) d.refuse("it is cp.async or cp.reduce.async");
  if (d.modifiers.take("bulk")) {
    if (d.modifiers.take("commit_group")) return bulk_commit(d);
    if (d.modifiers.take("wait_group")) return bulk_wait(d);
    const bool prefetch = d.modifiers.take("prefetch");
    if (d.modifiers.take("tensor")) return tensor_copy(d, reduce, prefetch);
    return bulk_copy(d, reduce, prefetch);
  }
  if (reduce) d.refuse("it is cp.reduce.async.bulk");
  if (d.modifiers.take("commit_group")) {
    d.expect_operands(0);
    d.emit(&commit_op, Effect::commit(Completion::copy_groups));
  } else if (d.modifiers.take("wait_group")) {
    d.expect_operands(1);
    const i64 count = d.constant(d.operand(0), "the number of groups");
    if (count < 0) d.refuse("the number of groups is negative");
    d.emit(&wait_op, Effect::wait(Completion::copy_groups, static_cast<u32>(count)));
  } else if (d.modifiers.take("wait_all")) {
    d.expect_operands(0);
    d.emit(&wait_all_op, Effect::wait_for_all(Completion::copy_groups));
  } else if (d.modifiers.take("mbarrier")) {
    decode_arrive(d);
  } else {
    decode_copy(d);
  }
}

}  // namespace wm::vgpu::isa
