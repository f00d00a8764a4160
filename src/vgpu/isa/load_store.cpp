// ld and st: scalars and vectors in every space; hints to caches.
#include <array>
#include <bit>
#include <cstring>

#include <fmt/format.h>

#include "vgpu/isa/families.hpp"
#include "vgpu/isa/lanes.hpp"
#include "vgpu/isa/memory_operands.hpp"
#include "vgpu/machine/access.hpp"
#include "warpmill/cache_policy.h"

namespace wm::vgpu::isa {

using ptx::OperandKind;
using ptx::Type;

namespace {

struct Transfer {
  Address address;
  AddressSpace space = AddressSpace::generic;
  bool ordered = false;  // its effect says how
  u32 count = 1;
  u32 bytes = 4;  // of all elements
  std::array<Operand, 8> rows{};
};

// E is the element in memory, W the word of the register it goes to or comes from.
template <class E, class W>
Step load_op(Warp& warp, const Op& op, u32 active) {
  const auto& t = op.as<Transfer>();
  LaneAddresses addresses;
  LaneBytes bytes;
  lane_addresses(warp, t.address, addresses);
  resolve(warp, op, t.space, addresses, t.bytes, t.bytes, AccessKind::read, active, bytes);
  for (u32 k = 0; k < t.count; ++k) {
    W* row = destination_row<W>(warp, t.rows[k]);
    fill_row(row, active, [&](u32 i) {
      E value;
      std::memcpy(&value, bytes.at[i] + k * sizeof(E), sizeof(E));
      return static_cast<W>(static_cast<std::conditional_t<std::is_signed_v<E>, std::make_signed_t<W>, W>>(value));
    });
  }
  if (t.ordered) order_after(warp.effect(op).ordering);
  return Step::go;
}

template <class E>
Step store_op(Warp& warp, const Op& op, u32 active) {
  const auto& t = op.as<Transfer>();
  LaneAddresses addresses;
  LaneBytes bytes;
  lane_addresses(warp, t.address, addresses);
  resolve(warp, op, t.space, addresses, t.bytes, t.bytes, AccessKind::write, active, bytes);
  if (t.ordered) order_before(warp.effect(op).ordering);
  const auto put = [&](u32 i, u32 k, const Word<E>* row) {
    const auto value = static_cast<E>(row[i]);
    std::memcpy(bytes.at[i] + k * sizeof(E), &value, sizeof(E));
  };
  for (u32 k = 0; k < t.count; ++k) {
    const auto* row = source_row<E>(warp, t.rows[k]);
    if (active == all_lanes)
      for (u32 i = 0; i < lanes_per_warp; ++i) put(i, k, row);
    else
      for_each_lane(active, [&](u32 i) { put(i, k, row); });
  }
  if (warp.launch().observer != nullptr && !warp.effect(op).strong()) [[unlikely]]
    for (u32 k = 0; k < t.count; ++k) {
      // A lane whose value is not there was overwritten by a later one.
      const auto* row = source_row<E>(warp, t.rows[k]);
      for_each_lane(active, [&](u32 i) {
        const auto value = static_cast<E>(row[i]);
        if (std::memcmp(bytes.at[i] + k * sizeof(E), &value, sizeof(E)) == 0) return;
        const bool shared = t.space == AddressSpace::shared || t.space == AddressSpace::shared_cluster;
        warp.launch().observer->lanes_differ(warp, op, i, addresses[i] + k * sizeof(E) + (shared ? shared_window : 0),
                                             sizeof(E));
      });
    }
  return Step::go;
}

// A kernel's parameter: the same for all lanes.
template <class E, class W>
Step load_parameter(Warp& warp, const Op& op, u32 active) {
  const auto& t = op.as<Transfer>();
  const u64 offset = static_cast<u64>(t.address.offset) - param_window;
  const auto& parameters = warp.launch().parameters;
  if (offset > parameters.size() || t.bytes > parameters.size() - offset)
    warp.fault(fmt::format("parameter read: {} bytes at offset {} lie outside the kernel's {} bytes of parameters",
                           t.bytes, offset, parameters.size()));
  for (u32 k = 0; k < t.count; ++k) {
    E value;
    std::memcpy(&value, parameters.data() + offset + k * sizeof(E), sizeof(E));
    const auto word =
        static_cast<W>(static_cast<std::conditional_t<std::is_signed_v<E>, std::make_signed_t<W>, W>>(value));
    fill_row(destination_row<W>(warp, t.rows[k]), active, [&](u32) { return word; });
  }
  return Step::go;
}

template <template <class, class> class Pick>
Handler by_element(Type type, bool wide) {
  switch (type) {
    case Type::b8:
    case Type::u8: return wide ? Pick<u8, u64>::handler : Pick<u8, u32>::handler;
    case Type::s8: return wide ? Pick<i8, u64>::handler : Pick<i8, u32>::handler;
    case Type::b16:
    case Type::u16:
    case Type::f16:
    case Type::bf16: return wide ? Pick<u16, u64>::handler : Pick<u16, u32>::handler;
    case Type::s16: return wide ? Pick<i16, u64>::handler : Pick<i16, u32>::handler;
    case Type::b32:
    case Type::u32:
    case Type::f32:
    case Type::f16x2:
    case Type::bf16x2: return wide ? Pick<u32, u64>::handler : Pick<u32, u32>::handler;
    case Type::s32: return wide ? Pick<i32, u64>::handler : Pick<i32, u32>::handler;
    case Type::b64:
    case Type::u64:
    case Type::s64:
    case Type::f64: return Pick<u64, u64>::handler;
    default: return nullptr;
  }
}
template <class E, class W>
struct PickLoad {
  static constexpr Handler handler = &load_op<E, W>;
};
template <class E, class W>
struct PickParameter {
  static constexpr Handler handler = &load_parameter<E, W>;
};
template <class E, class W>
struct PickStore {
  static constexpr Handler handler = &store_op<std::make_unsigned_t<E>>;
};

std::vector<const ptx::Operand*> elements(const FunctionDecoder& d, const ptx::Operand& o, u32 vector) {
  std::vector<const ptx::Operand*> all;
  if (o.kind == OperandKind::vector)
    for (const ptx::Operand& part : o.parts) all.push_back(&part);
  else
    all.push_back(&o);
  if (all.size() != vector) d.refuse(fmt::format("it moves {} elements and names {}", vector, all.size()));
  return all;
}

// In a device function the parameter space is the frame.
AddressSpace actual_space(const FunctionDecoder& d, AddressSpace space, const Address& address) {
  if (space != AddressSpace::param) return space;
  return !d.in_kernel() || address.base == AddressBase::frame ? AddressSpace::local : AddressSpace::param;
}

void check_vector(const FunctionDecoder& d, const MemoryQualifiers& q, Type type) {
  const u32 bytes = ptx::bytes_of(type) * q.vector;
  const u32 most = d.chip().arch.major >= 10 && q.space == AddressSpace::global ? 32 : 16;
  if (bytes > most)
    d.refuse(most == 32 ? "it moves at most 32 bytes a thread"
                        : "this architecture and space move at most 16 bytes a thread");
}

// Unlike an atomic operation, a load or store has no default for either.
void check_scope(FunctionDecoder& d, const MemoryQualifiers& q) {
  const bool ordered = q.ordering != Ordering::weak && q.ordering != Ordering::volatile_;
  if (q.scope.has_value() != ordered) d.refuse(ordered ? "an ordering needs a scope" : "a scope needs an ordering");
}

Effect effect_of(const MemoryQualifiers& q) {
  return Effect::access(q.space, q.ordering, q.scope.value_or(Scope::device));
}

}  // namespace

void load(FunctionDecoder& d) {
  const MemoryQualifiers q = take_memory_qualifiers(d);
  check_scope(d, q);
  Type type = d.modifiers.take_type();
  if (type == Type::none) d.refuse("it has no type");
  check_vector(d, q, type);
  d.modifiers.take("unified");
  d.expect_operands(q.cache_hint ? 3 : 2);
  Transfer t;
  t.ordered = q.ordering != Ordering::weak;
  t.address = d.address(d.operand(1), q.space);
  t.space = actual_space(d, q.space, t.address);
  t.count = q.vector;
  t.bytes = ptx::bytes_of(type) * q.vector;
  if (q.cache_hint) d.source(d.operand(2), Type::b64);
  bool wide = ptx::bytes_of(type) == 8;
  if (type == Type::b128) {
    t.rows[0] = d.destination(d.operand(0), 16);
    t.rows[1] = Operand::reg(t.rows[0].row() + 1);
    t.count = 2;
    type = Type::b64;
    wide = true;
  } else {
    const auto parts = elements(d, d.operand(0), q.vector);
    for (const ptx::Operand* part : parts) wide |= part->kind == OperandKind::reg && d.register_bytes(*part) == 8;
    for (u32 k = 0; k < q.vector; ++k) t.rows[k] = d.destination(*parts[k], wide ? 8 : ptx::bytes_of(type));
  }
  const bool parameter = t.space == AddressSpace::param && t.address.base == AddressBase::absolute;
  const Handler handler = parameter ? by_element<PickParameter>(type, wide) : by_element<PickLoad>(type, wide);
  if (handler == nullptr) d.refuse("it has no form for this type");
  d.emit(handler, effect_of(q), t);
}

void store(FunctionDecoder& d) {
  if (d.modifiers.has("async")) return store_async(d);
  if (d.modifiers.has("bulk")) return store_zeros(d);
  const MemoryQualifiers q = take_memory_qualifiers(d);
  check_scope(d, q);
  Type type = d.modifiers.take_type();
  if (type == Type::none) d.refuse("it has no type");
  check_vector(d, q, type);
  d.expect_operands(q.cache_hint ? 3 : 2);
  Transfer t;
  t.ordered = q.ordering != Ordering::weak;
  t.address = d.address(d.operand(0), q.space);
  t.space = actual_space(d, q.space, t.address);
  if (t.space == AddressSpace::constant || t.space == AddressSpace::param) d.refuse("this space cannot be written");
  t.count = q.vector;
  t.bytes = ptx::bytes_of(type) * q.vector;
  if (q.cache_hint) d.source(d.operand(2), Type::b64);
  if (type == Type::b128) {
    t.rows[0] = d.source(d.operand(1), Type::b128);
    t.rows[1] = Operand::reg(t.rows[0].row() + 1);
    t.count = 2;
    type = Type::b64;
  } else {
    const auto parts = elements(d, d.operand(1), q.vector);
    for (u32 k = 0; k < q.vector; ++k) t.rows[k] = d.source(*parts[k], type);
  }
  const Handler handler = by_element<PickStore>(type, ptx::bytes_of(type) == 8);
  if (handler == nullptr) d.refuse("it has no form for this type");
  d.emit(handler, effect_of(q), t);
}

namespace {
struct Zeros {
  Address address;
  AddressSpace space = AddressSpace::generic;
  Operand bytes;
};

Step zeros_op(Warp& warp, const Op& op, u32 active) {
  const auto& z = op.as<Zeros>();
  LaneAddresses to;
  lane_addresses(warp, z.address, to);
  const u64* counts = warp.source64(z.bytes);
  for_each_lane(active, [&](u32 i) {
    if (counts[i] % 8 != 0) warp.fault(fmt::format("st.bulk fills multiples of 8 bytes, not {}", counts[i]), i);
    if (counts[i] == 0) return;
    std::memset(resolve_one(warp, z.space, to[i], counts[i], 8, AccessKind::write, i), 0, counts[i]);
    if (Observer* observer = warp.launch().observer) {
      const u64 generic = z.space == AddressSpace::shared ? shared_window + to[i] : to[i];
      observer->access_range(warp, AccessKind::write, {generic, counts[i]}, i);
    }
  });
  return Step::go;
}
}  // namespace

// st.bulk: zeros in shared memory.
void store_zeros(FunctionDecoder& d) {
  if (d.chip().arch.major < 10) d.refuse("`st.bulk` is of sm_100 and later");
  d.modifiers.take("bulk");
  d.modifiers.take("weak");
  Zeros z;
  z.space = take_space(d);
  if (z.space != AddressSpace::generic && z.space != AddressSpace::shared) d.refuse("it fills shared memory");
  d.expect_operands(3);
  z.address = d.address(d.operand(0), z.space);
  z.bytes = d.source(d.operand(1), Type::u64);
  if (d.constant(d.operand(2), "the value") != 0) d.refuse("the value is 0");
  d.emit(&zeros_op, Effect::access(z.space), z);
}

// Caches are not modelled, but an operand that is no address is still refused.
void prefetch(FunctionDecoder& d) {
  const AddressSpace space = take_space(d);
  d.modifiers.take("tensormap");
  d.modifiers.take_one_of({"L1", "L2", "L2::evict_last", "L2::evict_normal"});
  d.expect_operands(1);
  d.address(d.operand(0), space);
  no_operation(d);
}

namespace {
Step copy_row(Warp& warp, const Op& op, u32 active) {
  const u64* a = warp.source64(op.a);
  fill_row(warp.row64(op.d), active, [&](u32 i) { return a[i]; });
  return Step::go;
}

Step make_fractional_policy(Warp& warp, const Op& op, u32 active) {
  const u64* priorities = warp.source64(op.a);
  const u32* fractions = warp.source32(op.b);
  u64* policies = warp.row64(op.d);
  for_each_lane(active, [&](u32 i) {
    const float fraction = std::bit_cast<float>(fractions[i]);
    if (!(fraction > 0 && fraction <= 1))
      warp.fault(fmt::format("a cache policy for a fraction of {}: it is more than 0 and at most 1", fraction), i);
    policies[i] = cache::policy(static_cast<cache::Priority>(priorities[i] / 2), fraction,
                                static_cast<cache::Priority>(priorities[i] % 2))
                      .bits;
  });
  return Step::go;
}

// The next modifier, where it is a priority: its number among cache::Priority, else -1.
int take_priority(FunctionDecoder& d) {
  constexpr std::array<std::string_view, 4> names = {"L2::evict_unchanged", "L2::evict_first", "L2::evict_last",
                                                     "L2::evict_normal"};
  for (int code = 0; code < 4; ++code)
    if (d.modifiers.first() == names[code]) {
      d.modifiers.take(names[code]);
      return code;
    }
  return -1;
}
}  // namespace

// createpolicy. A policy of a range is an opaque number here: nothing looks at it.
void create_policy(FunctionDecoder& d) {
  const bool fractional = d.modifiers.take("fractional");
  const bool range = d.modifiers.take("range");
  const bool convert = d.modifiers.take("cvt");
  if (fractional + range + convert != 1) d.refuse("it is createpolicy.fractional, .range or .cvt");
  take_space(d);
  u64 priorities = 0;
  if (convert) {
    d.modifiers.take("L2");
  } else {
    const int first = take_priority(d), second = take_priority(d);
    if (first < 0) d.refuse("it needs a priority: .L2::evict_last, _normal, _first or _unchanged");
    if (second > 1) d.refuse("its second priority is .L2::evict_first or _unchanged");
    priorities = static_cast<u64>(first * 2 + std::max(second, 0));
  }
  if (d.modifiers.take_type() != Type::b64) d.refuse("a policy has 64 bits");
  d.expect_operands(1, 4);
  const Operand to = d.destination(d.operand(0), Type::b64);
  if (fractional) {
    const Operand fraction = d.operands() > 1 ? d.source(d.operand(1), Type::f32) : d.constant32(0x3f800000);
    Op& op = d.emit(&make_fractional_policy, Effect::none());
    op.d = to;
    op.a = d.constant64(priorities);
    op.b = fraction;
    return;
  }
  Op& op = d.emit(&copy_row, Effect::none());
  op.d = to;
  op.a = d.constant64(0);
}

// applypriority, discard: [address], size.
void cache_hint(FunctionDecoder& d) {
  const AddressSpace space = take_space(d);
  d.modifiers.take_one_of({"L2::evict_normal", "L2"});
  d.expect_operands(2);
  d.address(d.operand(0), space);
  if (d.constant(d.operand(1), "the size") != 128) d.refuse("the size is 128");
  no_operation(d);
}

void texture(FunctionDecoder& d) { d.refuse("textures and surfaces are not supported"); }

}  // namespace wm::vgpu::isa
