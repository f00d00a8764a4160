// cp.async.bulk: runs of bytes between global and shared memory, and its groups. Also st.async and red.async, which are
// the same for a few registers.
#include <bit>
#include <cstring>

#include <fmt/format.h>

#include "vgpu/copy/reduce.hpp"
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

constexpr u32 piece_bytes = 64;  // in which copies arrive in the modes that scatter them

struct BulkOperands {
  AddressSpace to_space = AddressSpace::shared_cluster, from_space = AddressSpace::global;
  Address to, from, barrier;
  Operand bytes;
  bool multicast = false;
  Operand mask;
  bool chosen = false;  // .cp_mask: of each 16 bytes those are written whose bit is set
  Operand chosen_bytes;
  bool reduces = false;
  copy::Reduction reduction = copy::Reduction::add;
  MapElement element = MapElement::u32;
};

// One run of bytes to one destination. An end that is null is out of bounds, in a run that goes on: from there come
// zeros, and what goes there is lost.
class BulkCopy final : public AsyncOperation {
 public:
  u64 device_address = 0;  // of its end in global memory, which the kernel may free meanwhile

  u32 chosen = all_bytes;  // of each 16, those that are written
  static constexpr u32 all_bytes = 0xffff;

  BulkCopy(const Origin& origin, const BulkOperands& what, std::byte* to, const std::byte* from, u32 bytes, u64 barrier)
      : AsyncOperation(origin),
        what_(what),
        to_(to),
        from_(from),
        bytes_(bytes),
        barrier_(barrier),
        pieces_(Pieces::of(bytes, piece_bytes)) {}
  Membership membership;

  bool advance(Cluster& cluster, Random* dice) override {
    if (is_heap(device_address) && to_ != nullptr && from_ != nullptr)
      region_of(cluster.run->memory, device_address, bytes_, "a bulk copy");
    if (dice == nullptr) {
      move(0, bytes_);
      return finish(cluster, bytes_);
    }
    u32 moved = 0;
    for (u32 n = pieces_.empty() ? 0 : pieces_.portion(*dice); n > 0; --n) {
      const auto range = pieces_.take(*dice);
      move(range.offset, range.bytes);
      moved += range.bytes;
    }
    if (pieces_.empty()) return finish(cluster, moved);
    if (barrier_ != 0) mbarrier::complete_bytes(cluster, barrier_, moved, watched);
    return false;
  }

 private:
  void move(u32 offset, u32 bytes) {
    if (to_ == nullptr) return;
    if (chosen != all_bytes) {
      for (u32 i = offset; i < offset + bytes; ++i)
        if (chosen >> i % 16 & 1) to_[i] = from_ != nullptr ? from_[i] : std::byte{};
      return;
    }
    if (from_ == nullptr && !what_.reduces)
      std::memset(to_ + offset, 0, bytes);
    else if (from_ == nullptr)
      copy::reduce_elements(what_.reduction, what_.element, to_ + offset, std::vector<std::byte>(bytes).data(), bytes);
    else if (what_.reduces)
      copy::reduce_elements(what_.reduction, what_.element, to_ + offset, from_ + offset, bytes);
    else
      std::memmove(to_ + offset, from_ + offset, bytes);
  }
  bool finish(Cluster& cluster, u32 moved) {
    membership.done();
    if (barrier_ != 0) mbarrier::complete_bytes(cluster, barrier_, moved, watched);
    return true;
  }
  const BulkOperands& what_;
  std::byte* to_;
  const std::byte* from_;
  u32 bytes_;
  u64 barrier_;
  Pieces pieces_;
};

u64 shared_address(Warp& warp, AddressSpace space, u64 address, u32 lane) {
  if (space != AddressSpace::generic) return address;
  if (locate(address).space != AddressSpace::shared_cluster) warp.fault("the address is not in shared memory", lane);
  return locate(address).address;
}

bool in_shared(AddressSpace space) { return space == AddressSpace::shared || space == AddressSpace::shared_cluster; }

u64 generic(AddressSpace space, u64 address) { return in_shared(space) ? shared_window + address : address; }

// The observer's number for a copy; 0 where nobody watches. An end of 0 is not in memory.
u64 tell(const Warp& warp, u32 lane, u64 from, u64 to, u32 bytes, u64 barrier, u32 chosen = BulkCopy::all_bytes) {
  Observer* observer = warp.launch().observer;
  if (observer == nullptr) return 0;
  CopyIssue issue;
  if (from != 0) issue.reads.add(from, bytes);
  if (to != 0 && chosen == BulkCopy::all_bytes) issue.writes.add(to, bytes);
  if (to != 0 && chosen != BulkCopy::all_bytes)
    for (u32 i = 0; i < bytes; ++i)
      if (chosen >> i % 16 & 1) issue.writes.add(to + i, 1);
  issue.barrier = barrier;
  return observer->copy_issued(warp, lane, issue);
}

Step bulk_op(Warp& warp, const Op& op, u32 active) {
  const auto& b = op.as<BulkOperands>();
  LaneAddresses to, from, barrier{};
  lane_addresses(warp, b.to, to);
  lane_addresses(warp, b.from, from);
  const bool signals = warp.effect(op).completion == Completion::mbarrier;
  if (signals) lane_addresses(warp, b.barrier, barrier);
  Cluster& cluster = warp.cluster();
  for_each_lane(active, [&](u32 i) {
    const u32 bytes = warp.source32(b.bytes)[i];
    if (bytes % 16 != 0) warp.fault(fmt::format("a bulk copy moves multiples of 16 bytes, not {}", bytes), i);
    if (bytes == 0) return;
    const std::byte* source = resolve_or_tell(warp, b.from_space, from[i], bytes, 16, AccessKind::read, i);
    const u64 read = source != nullptr ? generic(b.from_space, from[i]) : 0;
    if (!signals) {
      const u32 chosen = b.chosen ? warp.source32(b.chosen_bytes)[i] & BulkCopy::all_bytes : BulkCopy::all_bytes;
      if (chosen == 0) return;
      // Bytes before the first and behind the last chosen one need not be there.
      const u32 before = static_cast<u32>(std::countr_zero(chosen)),
                behind = 16 - static_cast<u32>(std::bit_width(chosen));
      if (to[i] % 16 != 0 && chosen != BulkCopy::all_bytes)
        warp.fault(fmt::format("a bulk copy goes to a multiple of 16 bytes, not to {:#x}", to[i]), i);
      std::byte* target = resolve_or_tell(warp, b.to_space, to[i] + before, bytes - before - behind,
                                          before == 0 ? 16 : 1, AccessKind::write, i);
      if (target != nullptr) target -= before;
      auto copy = std::make_unique<BulkCopy>(Origin::of(warp, i), b, target, source, bytes, 0);
      copy->chosen = chosen;
      copy->membership = Membership(warp.bulk, i);
      copy->device_address = to[i];
      copy->watched = tell(warp, i, read, target != nullptr ? generic(b.to_space, to[i]) : 0, bytes, 0, chosen);
      cluster.async.issue(cluster, std::move(copy));
      return;
    }
    const u32* mask = b.multicast ? &warp.source32(b.mask)[i] : nullptr;
    for (const Destination& d : destinations(warp, i, to[i], barrier[i], mask)) {
      constexpr AddressSpace space = AddressSpace::shared_cluster;
      std::byte* target = resolve_or_tell(warp, space, d.shared, bytes, 16, AccessKind::write, i);
      if (resolve_or_tell(warp, space, d.barrier, 8, 8, AccessKind::atomic, i) == nullptr) continue;  // nobody to tell
      auto copy = std::make_unique<BulkCopy>(Origin::of(warp, i), b, target, source, bytes, d.barrier);
      if (!in_shared(b.from_space)) copy->device_address = from[i];
      copy->watched = tell(warp, i, read, target != nullptr ? shared_window + d.shared : 0, bytes, d.barrier);
      cluster.async.issue(cluster, std::move(copy));
    }
  });
  return Step::go;
}

Step commit_op(Warp& warp, const Op&, u32 active) {
  for_each_lane(active, [&](u32 i) { warp.bulk.of(i).commit(); });
  return Step::go;
}

Step wait_op(Warp& warp, const Op& op, u32 active) {
  const Effect& effect = warp.effect(op);
  if (warp.bulk.at_most(effect.count, active, effect.sources_only)) return Step::go;
  Wait w;
  w.kind = WaitKind::bulk_groups;
  w.index = effect.count;
  w.reading = effect.sources_only;
  return warp.wait(w, active);
}

// What an element of a bulk reduction is.
MapElement element_of(FunctionDecoder& d, Type type) {
  switch (type) {
    case Type::u32:
    case Type::b32: return MapElement::u32;
    case Type::s32: return MapElement::i32;
    case Type::u64:
    case Type::b64: return MapElement::u64;
    case Type::s64: return MapElement::i64;
    case Type::f16: return MapElement::f16;
    case Type::bf16: return MapElement::bf16;
    case Type::f32: return MapElement::f32_ftz;  // add.f32 flushes subnormal numbers, as red.global does
    case Type::f64: return MapElement::f64;
    default: d.refuse("it has no form for this type");
  }
}

copy::Reduction take_reduction(FunctionDecoder& d) {
  const std::initializer_list<std::string_view> names = {"add", "min", "max", "inc", "dec", "and", "or", "xor"};
  const int index = d.modifiers.take_one_of(names);
  if (index < 0) d.refuse("it needs an operation");
  return static_cast<copy::Reduction>(index);
}

// ---- st.async and red.async ----

struct RegisterOperands {
  AddressSpace space = AddressSpace::shared_cluster;
  Address to, barrier;
  std::array<Operand, 4> rows{};
  u32 count = 1, bytes = 4;  // elements and bytes of one
  bool reduces = false;
  copy::Reduction reduction = copy::Reduction::add;
  MapElement element = MapElement::u32;
};

class RegisterStore final : public AsyncOperation {
 public:
  RegisterStore(const Origin& origin, const RegisterOperands& what, std::byte* to, u64 barrier)
      : AsyncOperation(origin), what_(what), to_(to), barrier_(barrier) {}
  std::array<std::byte, 16> values{};
  bool advance(Cluster& cluster, Random*) override {
    const u32 bytes = what_.bytes * what_.count;
    if (what_.reduces)
      copy::reduce_elements(what_.reduction, what_.element, to_, values.data(), bytes);
    else
      std::memcpy(to_, values.data(), bytes);
    mbarrier::complete_bytes(cluster, barrier_, bytes, watched);
    return true;
  }

 private:
  const RegisterOperands& what_;
  std::byte* to_;
  u64 barrier_;
};

Step register_store_op(Warp& warp, const Op& op, u32 active) {
  const auto& r = op.as<RegisterOperands>();
  LaneAddresses to, barrier;
  lane_addresses(warp, r.to, to);
  lane_addresses(warp, r.barrier, barrier);
  Cluster& cluster = warp.cluster();
  const u32 bytes = r.bytes * r.count;
  for_each_lane(active, [&](u32 i) {
    const u64 at = shared_address(warp, r.space, to[i], i), signal = shared_address(warp, r.space, barrier[i], i);
    std::byte* target = resolve_one(warp, AddressSpace::shared_cluster, at, bytes, bytes, AccessKind::write, i);
    resolve_one(warp, AddressSpace::shared_cluster, signal, 8, 8, AccessKind::atomic, i);
    if (at >> shared_rank_shift != signal >> shared_rank_shift)
      warp.fault("the mbarrier is not in the block that is written to", i);
    auto store = std::make_unique<RegisterStore>(Origin::of(warp, i), r, target, signal);
    for (u32 k = 0; k < r.count; ++k) {
      const u64 value = r.bytes == 8 ? warp.source64(r.rows[k])[i] : warp.source32(r.rows[k])[i];
      std::memcpy(store->values.data() + k * r.bytes, &value, r.bytes);
    }
    store->watched = tell(warp, i, 0, shared_window + at, bytes, signal);
    cluster.async.issue(cluster, std::move(store));
  });
  return Step::go;
}

void decode_register_store(FunctionDecoder& d, bool reduces) {
  RegisterOperands r;
  d.modifiers.take("async");
  const Ordering ordering = take_ordering(d);
  take_scope(d);
  if (ordering != Ordering::weak && ordering != Ordering::relaxed) d.refuse("it is .weak or .relaxed");
  r.space = take_space(d);
  if (r.space != AddressSpace::generic && r.space != AddressSpace::shared_cluster)
    d.refuse("it writes to .shared::cluster");
  if (!d.modifiers.take("mbarrier::complete_tx::bytes")) d.refuse("it needs .mbarrier::complete_tx::bytes");
  const int vector = d.modifiers.take_one_of({"v2", "v4"});
  r.count = vector < 0 ? 1 : vector == 0 ? 2 : 4;
  r.reduces = reduces;
  if (reduces) r.reduction = take_reduction(d);
  const Type type = d.modifiers.take_type();
  r.bytes = ptx::bytes_of(type);
  if (r.bytes != 4 && r.bytes != 8) d.refuse("its types have 32 or 64 bits");
  if (r.bytes * r.count > 16) d.refuse("it writes at most 16 bytes");
  if (reduces) {
    r.element = element_of(d, type);
    if (r.count != 1 || !copy::has_reduction(r.reduction, r.element))
      d.refuse("this operation has no form for this type");
  }
  d.expect_operands(3);
  r.to = d.address(d.operand(0), r.space);
  const auto rows = d.sources(d.operand(1), type);
  if (rows.size() != r.count) d.refuse("the number of elements is wrong");
  std::copy(rows.begin(), rows.end(), r.rows.begin());
  r.barrier = d.address(d.operand(2), r.space);
  // Unlike other copies, these are stores of the thread: of the generic proxy.
  d.emit(&register_store_op,
         r.reduces ? Effect::reduction(Proxy::generic, Completion::mbarrier)
                   : Effect::copy(Proxy::generic, Completion::mbarrier),
         r);
}

}  // namespace

void store_async(FunctionDecoder& d) { decode_register_store(d, false); }
void reduction_async(FunctionDecoder& d) { decode_register_store(d, true); }

void bulk_commit(FunctionDecoder& d) {
  d.expect_operands(0);
  d.emit(&commit_op, Effect::commit(Completion::bulk_groups));
}

void bulk_wait(FunctionDecoder& d) {
  const bool reading = d.modifiers.take("read");
  d.expect_operands(1);
  const i64 count = d.constant(d.operand(0), "the number of groups");
  if (count < 0) d.refuse("the number of groups is negative");
  const u32 pending = static_cast<u32>(count);
  d.emit(&wait_op, reading ? Effect::wait_for_sources(Completion::bulk_groups, pending)
                           : Effect::wait(Completion::bulk_groups, pending));
}

void bulk_copy(FunctionDecoder& d, bool reduce, bool prefetch) {
  if (prefetch) {
    if (!d.modifiers.take("L2") || take_space(d) != AddressSpace::global) d.refuse("it is .prefetch.L2.global");
    const bool hint = d.modifiers.take("L2::cache_hint");
    d.expect_operands(hint ? 3 : 2);
    d.address(d.operand(0), AddressSpace::global);
    d.source(d.operand(1), Type::u32);
    return no_operation(d);
  }
  BulkOperands b;
  // The modifiers name the destination first: both may be shared memory.
  b.to_space = take_space_first(d);
  b.from_space = take_space_first(d);
  b.reduces = reduce;
  const bool signals = d.modifiers.take("mbarrier::complete_tx::bytes");
  if (!signals && !d.modifiers.take("bulk_group")) d.refuse("it needs .mbarrier::complete_tx::bytes or .bulk_group");
  b.multicast = d.modifiers.take("multicast::cluster");
  const bool hint = d.modifiers.take("L2::cache_hint");
  b.chosen = d.modifiers.take("cp_mask");
  if (b.chosen && (d.chip().arch.major < 10 || b.to_space != AddressSpace::global || reduce))
    d.refuse("`.cp_mask` is of copies to global memory, from sm_100 on");
  const bool to_shared = in_shared(b.to_space);
  const bool legal = (to_shared && signals) ||
                     (b.to_space == AddressSpace::global && b.from_space == AddressSpace::shared && !signals);
  const bool source_legal = b.from_space == AddressSpace::global || b.from_space == AddressSpace::shared;
  if (!legal || !source_legal || (b.to_space == AddressSpace::global && b.from_space == AddressSpace::global))
    d.refuse("there is no bulk copy between these spaces with this completion");
  if (b.multicast && b.from_space != AddressSpace::global) d.refuse("only copies from global memory are multicast");
  if (reduce) {
    b.reduction = take_reduction(d);
    const bool noftz = d.modifiers.take("noftz");
    const Type type = d.modifiers.take_type();
    b.element = element_of(d, type);
    if (noftz && type != Type::f16 && type != Type::bf16) d.refuse("`.noftz` is for 16-bit floats");
    if (!copy::has_reduction(b.reduction, b.element)) d.refuse("this operation has no form for this type");
    if (b.from_space == AddressSpace::global) d.refuse("a reduction reads shared memory");
  }
  const std::size_t count = 3 + (signals ? 1 : 0) + (b.multicast ? 1 : 0) + (hint ? 1 : 0) + (b.chosen ? 1 : 0);
  d.expect_operands(count);
  b.to = d.address(d.operand(0), b.to_space);
  b.from = d.address(d.operand(1), b.from_space);
  b.bytes = d.source(d.operand(2), Type::u32);
  std::size_t next = 3;
  if (signals) b.barrier = d.address(d.operand(next++), AddressSpace::shared_cluster);
  if (b.multicast) b.mask = d.source(d.operand(next++), Type::u16);
  if (hint) d.source(d.operand(next++), Type::b64);
  if (b.chosen) b.chosen_bytes = d.source(d.operand(next), Type::u16);
  const Completion completion = signals ? Completion::mbarrier : Completion::bulk_groups;
  d.emit(&bulk_op, reduce ? Effect::reduction(Proxy::async, completion) : Effect::copy(Proxy::async, completion), b);
}

}  // namespace wm::vgpu::isa
