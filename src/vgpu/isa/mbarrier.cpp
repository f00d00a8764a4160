// mbarrier: barriers in shared memory.
#include "vgpu/machine/mbarrier.hpp"

#include <bit>
#include <cstring>

#include <fmt/format.h>

#include "vgpu/isa/families.hpp"
#include "vgpu/isa/lanes.hpp"
#include "vgpu/isa/memory_operands.hpp"
#include "vgpu/machine/access.hpp"
#include "vgpu/machine/fault.hpp"
#include "vgpu/machine/observer.hpp"
#include "warpmill/error.hpp"

namespace wm::vgpu {

namespace isa {

using mbarrier::Fields;
using ptx::OperandKind;
using ptx::Type;

namespace {

struct Use {
  Address address;
  AddressSpace space = AddressSpace::generic;
  Operand value;       // count, bytes, state or parity
  bool bytes = false;  // expect_tx with the arrival
  bool drop = false;   // arrive_drop
  bool no_complete = false;
  bool state = false;  // the phase is named by a state, not by a parity
  bool try_wait = false;
};

struct Place {
  std::byte* bytes;
  u64 address;  // shared address with rank
};

Place place_of(Warp& warp, const Use& use, const LaneAddresses& addresses, AccessKind kind, u32 lane) {
  std::byte* bytes = resolve_one(warp, use.space, addresses[lane], 8, 8, kind, lane);
  u64 address = addresses[lane];
  if (use.space == AddressSpace::generic) {
    const Located l = locate(address);
    if (l.space != AddressSpace::shared_cluster) warp.fault("an mbarrier lies in shared memory", lane);
    address = l.address;
  }
  return {bytes, address};
}

Fields fields_at(Warp& warp, const Place& place, u32 lane) {
  u64 word;
  std::memcpy(&word, place.bytes, 8);
  const Fields f = mbarrier::unpack(word);
  if (!f.valid)
    warp.fault(fmt::format("the mbarrier at {:#x} is not initialised", place.address), lane,
               fault::barrier_not_initialised);
  return f;
}

void tell(const Warp& warp, const Op& op, u32 lanes, const Place& place, MbarrierUse use) {
  Observer* observer = warp.launch().observer;
  if (observer == nullptr) return;
  use.address = place.address;
  observer->uses_mbarrier(warp, op, lanes, use);
}

void put(Warp& warp, const Place& place, const Fields& f) {
  const u64 word = mbarrier::pack(f);
  std::memcpy(place.bytes, &word, 8);
  ++warp.cluster().events;
  ++warp.cluster().advances;
}

template <class Body>
Step each_lane(Warp& warp, const Op& op, u32 active, Body body) {
  const auto& use = op.as<Use>();
  LaneAddresses addresses;
  lane_addresses(warp, use.address, addresses);
  for_each_lane(active, [&](u32 i) { body(use, place_of(warp, use, addresses, AccessKind::atomic, i), i); });
  return Step::go;
}

Step init_op(Warp& warp, const Op& op, u32 active) {
  return each_lane(warp, op, active, [&](const Use& use, const Place& place, u32 i) {
    const u32 count = warp.source32(use.value)[i];
    if (count == 0 || count > mbarrier::most_arrivals)
      warp.fault(fmt::format("an mbarrier counts 1 to {} arrivals, not {}", mbarrier::most_arrivals, count), i);
    tell(warp, op, 1u << i, place, {.kind = MbarrierUse::Kind::init, .count = count});
    put(warp, place, {0, count, count, 0, true});
  });
}

Step invalidate_op(Warp& warp, const Op& op, u32 active) {
  return each_lane(warp, op, active, [&](const Use&, const Place& place, u32 i) {
    tell(warp, op, 1u << i, place, {.kind = MbarrierUse::Kind::invalidate});
    fields_at(warp, place, i);
    put(warp, place, {});
  });
}

void expect(Warp& warp, Fields& f, const Place& place, u32 bytes, u32 lane) {
  if (i64{f.bytes} + bytes > mbarrier::most_bytes)
    warp.fault(fmt::format("the mbarrier at {:#x} cannot expect {} bytes more than {}: {} is the most", place.address,
                           bytes, f.bytes, mbarrier::most_bytes),
               lane);
  f.bytes += static_cast<i32>(bytes);
}

Step expect_op(Warp& warp, const Op& op, u32 active) {
  return each_lane(warp, op, active, [&](const Use& use, const Place& place, u32 i) {
    tell(warp, op, 1u << i, place, {.kind = MbarrierUse::Kind::expect, .bytes = warp.source32(use.value)[i]});
    Fields f = fields_at(warp, place, i);
    expect(warp, f, place, warp.source32(use.value)[i], i);
    mbarrier::turn(f);
    put(warp, place, f);
  });
}

Step complete_op(Warp& warp, const Op& op, u32 active) {
  return each_lane(warp, op, active, [&](const Use& use, const Place& place, u32 i) {
    tell(warp, op, 1u << i, place, {.kind = MbarrierUse::Kind::complete, .bytes = warp.source32(use.value)[i]});
    fields_at(warp, place, i);
    mbarrier::complete_bytes(warp.cluster(), place.address, warp.source32(use.value)[i], 0);
  });
}

Step arrive_op(Warp& warp, const Op& op, u32 active) {
  return each_lane(warp, op, active, [&](const Use& use, const Place& place, u32 i) {
    const u32 value = warp.source32(use.value)[i];
    const u32 count = use.bytes ? 1 : value;
    tell(warp, op, 1u << i, place,
         {.kind = MbarrierUse::Kind::arrive, .count = count, .bytes = use.bytes ? value : 0, .drop = use.drop});
    Fields f = fields_at(warp, place, i);
    const u64 before = mbarrier::pack(f);
    if (use.bytes) expect(warp, f, place, value, i);
    if (count > f.pending)
      warp.fault(fmt::format("{} arrival{} at the mbarrier at {:#x}, where {} {} pending in this phase", count,
                             count == 1 ? "" : "s", place.address, f.pending, f.pending == 1 ? "is" : "are"),
                 i, fault::barrier_overrun);
    if (use.no_complete && count == f.pending && f.bytes == 0)
      warp.fault(
          fmt::format("an arrival with .noComplete would complete the phase of the mbarrier at {:#x}", place.address),
          i);
    f.pending -= count;
    if (use.drop) f.expected -= std::min(count, f.expected);
    mbarrier::turn(f);
    put(warp, place, f);
    warp.row64(op.d)[i] = before;
  });
}

// A failing try_wait or test_wait parks its lanes: the chip may suspend them too. They are woken when the phase ends,
// or answer "not yet" after a while.
Step wait_op(Warp& warp, const Op& op, u32 active) {
  const auto& use = op.as<Use>();
  LaneAddresses addresses;
  lane_addresses(warp, use.address, addresses);
  const auto parity_of = [&](u32 i) {
    return use.state ? mbarrier::unpack(warp.source64(use.value)[i]).phase : warp.source32(use.value)[i] & 1;
  };
  u32 done = 0;
  Wait wait;
  // Lanes mostly ask the same of the same barrier: once for all of them.
  for (u32 left = active; left != 0;) {
    const u32 first = static_cast<u32>(std::countr_zero(left)), parity = parity_of(first);
    const u32 same =
        left & ballot_of([&](u32 i) { return addresses[i] == addresses[first] && parity_of(i) == parity; });
    left &= ~same;
    const Place place = place_of(warp, use, addresses, AccessKind::read, first);
    u64 word;
    std::memcpy(&word, place.bytes, 8);
    const bool over = mbarrier::unpack(word).phase != parity;
    tell(warp, op, same, place, {.kind = MbarrierUse::Kind::wait, .parity = parity, .done = over});
    fields_at(warp, place, first);
    if (over) {
      done |= same;
    } else if (wait.kind == WaitKind::none) {
      wait.kind = WaitKind::mbarrier;
      wait.address = place.address;
      wait.parity = static_cast<u8>(parity);
    }
  }
  if (done != active && !warp.gave_up) {
    const Cluster& cluster = warp.cluster();
    wait.may_give_up = true;
    wait.until = cluster.round + (use.try_wait ? 1000 : 100);
    return warp.wait(wait, active);
  }
  warp.set_predicate(op.d.row(), done, active);
  return Step::go;
}

Step pending_count_op(Warp& warp, const Op& op, u32 active) {
  const u64* state = warp.source64(op.a);
  fill_row(warp.row32(op.d), active, [&](u32 i) { return mbarrier::unpack(state[i]).pending; });
  return Step::go;
}

// [.sem][.scope][.space].b64; `usual` is the ordering where none is said.
Effect take_qualifiers(FunctionDecoder& d, Use& use, Ordering usual) {
  const Ordering said = take_ordering(d);
  const Scope scope = take_scope(d).value_or(Scope::block);
  use.space = take_space(d);
  if (use.space != AddressSpace::generic && use.space != AddressSpace::shared &&
      use.space != AddressSpace::shared_cluster)
    d.refuse("an mbarrier lies in shared memory");
  if (d.modifiers.take_type() != Type::b64) d.refuse("its type is .b64");
  return Effect::mbarrier(said == Ordering::weak ? usual : said, scope);
}

void decode_arrive(FunctionDecoder& d, Use use) {
  use.bytes = d.modifiers.take("expect_tx");
  use.no_complete = d.modifiers.take("noComplete");
  const Effect effect = take_qualifiers(d, use, Ordering::release);
  // The state may be left out where the barrier is in another block.
  const bool has_state = d.operand(0).kind != OperandKind::memory;
  const std::size_t first = has_state ? 1 : 0;
  d.expect_operands(first + (use.bytes || use.no_complete ? 2 : 1), first + 2);
  use.address = d.address(d.operand(first), use.space);
  use.value = d.operands() > first + 1 ? d.source(d.operand(first + 1), Type::u32) : d.constant32(1);
  const Operand to = has_state ? d.destination(d.operand(0), Type::b64) : Operand::reg(sink_row);
  d.emit(&arrive_op, effect, use).d = to;
}

void decode_wait(FunctionDecoder& d, bool try_wait) {
  Use use;
  use.try_wait = try_wait;
  use.state = !d.modifiers.take("parity");
  const Effect effect = take_qualifiers(d, use, Ordering::acquire);
  d.expect_operands(3, try_wait ? 4 : 3);
  use.address = d.address(d.operand(1), use.space);
  use.value = d.source(d.operand(2), use.state ? Type::b64 : Type::u32);
  if (d.operands() == 4) d.source(d.operand(3), Type::u32);  // the time limit: a hint
  const u32 to = d.predicate_destination(d.operand(0));
  d.emit(&wait_op, effect, use).d = Operand::reg(to);
}

}  // namespace

void mbarrier_family(FunctionDecoder& d) {
  const std::string operation(d.modifiers.first());
  d.modifiers.take(operation);
  Use use;
  const auto plain = [&](Handler handler, bool value) {
    const Effect effect = take_qualifiers(d, use, Ordering::relaxed);
    d.expect_operands(value ? 2 : 1);
    use.address = d.address(d.operand(0), use.space);
    if (value) use.value = d.source(d.operand(1), Type::u32);
    d.emit(handler, effect, use);
  };
  if (operation == "init") return plain(&init_op, true);
  if (operation == "inval") return plain(&invalidate_op, false);
  if (operation == "expect_tx") return plain(&expect_op, true);
  if (operation == "complete_tx") return plain(&complete_op, true);
  if (operation == "arrive") return decode_arrive(d, use);
  if (operation == "arrive_drop") {
    use.drop = true;
    return decode_arrive(d, use);
  }
  if (operation == "test_wait") return decode_wait(d, false);
  if (operation == "try_wait") return decode_wait(d, true);
  if (operation == "pending_count") {
    if (d.modifiers.take_type() != Type::b64) d.refuse("its type is .b64");
    emit_lanewise(d, Effect::none(), &pending_count_op, Type::u32, {Type::b64});
    return;
  }
  d.refuse("mbarriers have no such operation");
}

}  // namespace isa
}  // namespace wm::vgpu
