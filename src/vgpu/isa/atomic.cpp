// atom and red: read, change and write in one, with real atomic operations of the host where host threads may meet.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>

#include <fmt/format.h>

#include "vgpu/isa/families.hpp"
#include "vgpu/isa/floating.hpp"
#include "vgpu/isa/memory_operands.hpp"
#include "vgpu/isa/numeric/arithmetic.hpp"
#include "vgpu/machine/access.hpp"

namespace wm::vgpu::isa {

using numeric::Format;
using ptx::Type;

namespace {

struct Update {
  Address address;
  AddressSpace space = AddressSpace::generic;
  bool returns = false;
  u32 count = 1;  // elements of a vector, each atomic on its own
  std::array<Operand, 8> d{}, b{};
  Operand c;  // the value of cas, with b the one compared
};

template <class T>
using Change = T (*)(T old, T b, bool shared);

template <class T>
T change_at(std::byte* place, Change<T> change, T b, bool shared, bool& changed) {
  std::atomic_ref<T> memory(*reinterpret_cast<T*>(place));
  T old = memory.load(std::memory_order_relaxed);
  while (true) {
    const T next = change(old, b, shared);
    if (next == old) return old;
    if (memory.compare_exchange_weak(old, next, std::memory_order_acq_rel)) break;
  }
  changed = true;
  return old;
}

bool is_shared(AddressSpace space, u64 address) {
  return space == AddressSpace::shared || space == AddressSpace::shared_cluster ||
         (space == AddressSpace::generic && in_window(address, shared_window));
}

void note_change(Warp& warp, bool changed) {
  if (changed) ++warp.cluster().advances;
}

template <class T, Change<T> change>
Step update_op(Warp& warp, const Op& op, u32 active) {
  const auto& u = op.as<Update>();
  LaneAddresses addresses;
  LaneBytes bytes;
  lane_addresses(warp, u.address, addresses);
  const u32 size = static_cast<u32>(sizeof(T)) * u.count;
  resolve(warp, op, u.space, addresses, size, size, AccessKind::atomic, active, bytes);
  order_before(warp.effect(op).ordering);
  bool changed = false;
  for_each_lane(active, [&](u32 i) {
    for (u32 k = 0; k < u.count; ++k) {
      const T b = static_cast<T>(source_row<T>(warp, u.b[k])[i]);
      const T old = change_at<T>(bytes.at[i] + k * sizeof(T), change, b, is_shared(u.space, addresses[i]), changed);
      if (u.returns) destination_row<T>(warp, u.d[k])[i] = old;
    }
  });
  note_change(warp, changed);
  order_after(warp.effect(op).ordering);
  return Step::go;
}

template <class T>
Step compare_and_swap_op(Warp& warp, const Op& op, u32 active) {
  const auto& u = op.as<Update>();
  LaneAddresses addresses;
  LaneBytes bytes;
  lane_addresses(warp, u.address, addresses);
  resolve(warp, op, u.space, addresses, sizeof(T), sizeof(T), AccessKind::atomic, active, bytes);
  order_before(warp.effect(op).ordering);
  bool changed = false;
  for_each_lane(active, [&](u32 i) {
    T expected = static_cast<T>(source_row<T>(warp, u.b[0])[i]);
    const T value = static_cast<T>(source_row<T>(warp, u.c)[i]);
    std::atomic_ref<T> memory(*reinterpret_cast<T*>(bytes.at[i]));
    if (memory.compare_exchange_strong(expected, value, std::memory_order_acq_rel)) changed |= expected != value;
    if (u.returns) destination_row<T>(warp, u.d[0])[i] = expected;
  });
  note_change(warp, changed);
  order_after(warp.effect(op).ordering);
  return Step::go;
}

// 128 bits: atomic with regard to each other.
std::mutex& wide_mutex() {
  static std::mutex mutex;
  return mutex;
}
template <bool compare>
Step wide_op(Warp& warp, const Op& op, u32 active) {
  const auto& u = op.as<Update>();
  LaneAddresses addresses;
  LaneBytes bytes;
  lane_addresses(warp, u.address, addresses);
  resolve(warp, op, u.space, addresses, 16, 16, AccessKind::atomic, active, bytes);
  const auto next = [](Operand row) { return Operand::reg(row.row() + 1); };
  const Operand value = compare ? u.c : u.b[0];
  std::lock_guard lock(wide_mutex());
  for_each_lane(active, [&](u32 i) {
    std::array<u64, 2> old, wanted = {warp.source64(u.b[0])[i], warp.source64(next(u.b[0]))[i]};
    const std::array<u64, 2> fresh = {warp.source64(value)[i], warp.source64(next(value))[i]};
    std::memcpy(old.data(), bytes.at[i], 16);
    if (!compare || old == wanted) std::memcpy(bytes.at[i], fresh.data(), 16);
    if (u.returns) {
      warp.row64(u.d[0])[i] = old[0];
      warp.row64(next(u.d[0]))[i] = old[1];
    }
  });
  note_change(warp, true);
  return Step::go;
}

template <class T>
T add_of(T old, T b, bool) {
  return static_cast<T>(static_cast<std::make_unsigned_t<T>>(old) + static_cast<std::make_unsigned_t<T>>(b));
}
template <class T>
T exchange_of(T, T b, bool) {
  return b;
}
template <class T>
T and_of(T old, T b, bool) {
  return old & b;
}
template <class T>
T or_of(T old, T b, bool) {
  return old | b;
}
template <class T>
T xor_of(T old, T b, bool) {
  return old ^ b;
}
template <class T>
T minimum_of(T old, T b, bool) {
  return std::min(old, b);
}
template <class T>
T maximum_of(T old, T b, bool) {
  return std::max(old, b);
}
u32 increment_of(u32 old, u32 b, bool) { return old >= b ? 0 : old + 1; }
u32 decrement_of(u32 old, u32 b, bool) { return old == 0 || old > b ? b : old - 1; }

// Floats travel as their bits. Sums of f32 in global memory flush subnormals, those in shared memory do not.
u32 add_f32(u32 old, u32 b, bool shared) {
  return static_cast<u32>(numeric::add(Format::f32, old, b, {.ftz = !shared}));
}
u64 add_f64(u64 old, u64 b, bool) { return numeric::add(Format::f64, old, b); }

enum class Kind : u8 { add, minimum, maximum };
template <Format format, Kind kind>
u64 half(u64 old, u64 b) {
  if (kind == Kind::add) return numeric::add(format, old, b);
  return kind == Kind::minimum ? numeric::minimum(format, old, b) : numeric::maximum(format, old, b);
}
template <Format format, Kind kind>
u16 half_of(u16 old, u16 b, bool) {
  return static_cast<u16>(half<format, kind>(old, b));
}
template <Format format, Kind kind>
u32 halves_of(u32 old, u32 b, bool) {
  return numeric::pairwise([](u64 x, u64 y) { return half<format, kind>(x, y); }, old, b);
}

template <Kind kind>
Handler float_handler(Type type) {
  switch (type) {
    case Type::f16: return &update_op<u16, &half_of<Format::f16, kind>>;
    case Type::bf16: return &update_op<u16, &half_of<Format::bf16, kind>>;
    case Type::f16x2: return &update_op<u32, &halves_of<Format::f16, kind>>;
    case Type::bf16x2: return &update_op<u32, &halves_of<Format::bf16, kind>>;
    case Type::f32: return kind == Kind::add ? &update_op<u32, &add_f32> : nullptr;
    case Type::f64: return kind == Kind::add ? &update_op<u64, &add_f64> : nullptr;
    default: return nullptr;
  }
}

Handler pick(FunctionDecoder& d, int operation, Type type, bool vector) {
  switch (operation) {
    case 0:
      if (type == Type::b32) return &update_op<u32, &and_of<u32>>;
      if (type == Type::b64) return &update_op<u64, &and_of<u64>>;
      break;
    case 1:
      if (type == Type::b32) return &update_op<u32, &or_of<u32>>;
      if (type == Type::b64) return &update_op<u64, &or_of<u64>>;
      break;
    case 2:
      if (type == Type::b32) return &update_op<u32, &xor_of<u32>>;
      if (type == Type::b64) return &update_op<u64, &xor_of<u64>>;
      break;
    case 3:
      if (type == Type::b16) return &compare_and_swap_op<u16>;
      if (type == Type::b32 || type == Type::u32 || type == Type::s32) return &compare_and_swap_op<u32>;
      if (type == Type::b64 || type == Type::u64 || type == Type::s64) return &compare_and_swap_op<u64>;
      if (type == Type::b128) return &wide_op<true>;
      break;
    case 4:
      if (type == Type::b32 || type == Type::u32 || type == Type::s32) return &update_op<u32, &exchange_of<u32>>;
      if (type == Type::b64 || type == Type::u64 || type == Type::s64) return &update_op<u64, &exchange_of<u64>>;
      if (type == Type::b128) return &wide_op<false>;
      break;
    case 5:
      if (type == Type::u32 || type == Type::s32) return &update_op<u32, &add_of<u32>>;
      if (type == Type::u64 || type == Type::s64) return &update_op<u64, &add_of<u64>>;
      return float_handler<Kind::add>(type);
    case 6:
      if (type == Type::u32) return &update_op<u32, &increment_of>;
      break;
    case 7:
      if (type == Type::u32) return &update_op<u32, &decrement_of>;
      break;
    case 8:
    case 9:
      if (vector && type != Type::f32)
        return operation == 8 ? float_handler<Kind::minimum>(type) : float_handler<Kind::maximum>(type);
      if (type == Type::u32)
        return operation == 8 ? Handler(&update_op<u32, &minimum_of<u32>>) : &update_op<u32, &maximum_of<u32>>;
      if (type == Type::s32)
        return operation == 8 ? Handler(&update_op<i32, &minimum_of<i32>>) : &update_op<i32, &maximum_of<i32>>;
      if (type == Type::u64)
        return operation == 8 ? Handler(&update_op<u64, &minimum_of<u64>>) : &update_op<u64, &maximum_of<u64>>;
      if (type == Type::s64)
        return operation == 8 ? Handler(&update_op<i64, &minimum_of<i64>>) : &update_op<i64, &maximum_of<i64>>;
      break;
    default: d.refuse("it needs an operation");
  }
  return nullptr;
}

void decode(FunctionDecoder& d, bool returns) {
  const MemoryQualifiers q = take_memory_qualifiers(d);
  const int operation = d.modifiers.take_one_of({"and", "or", "xor", "cas", "exch", "add", "inc", "dec", "min", "max"});
  const bool noftz = d.modifiers.take("noftz");
  const Type type = d.modifiers.take_type();
  if (noftz && (!is_float(type) || type == Type::f32 || type == Type::f64)) d.refuse("`.noftz` is for 16-bit floats");
  const bool global = q.space == AddressSpace::global || q.space == AddressSpace::generic;
  const bool shared = q.space == AddressSpace::shared || q.space == AddressSpace::shared_cluster;
  if (!global && !shared) d.refuse("atomic operations are for global and shared memory");
  const Handler handler = pick(d, operation, type, q.vector > 1);
  if (handler == nullptr) d.refuse("this operation has no form for this type");
  const bool cas = operation == 3, exchange = operation == 4;
  if (!returns && (cas || exchange)) d.refuse("`red` has neither .cas nor .exch");
  if (q.vector > 1 && (!is_float(type) || cas || exchange || type == Type::f64 || shared))
    d.refuse("vectors are for floats of up to 32 bits in global memory");
  if (q.vector * ptx::bytes_of(type) > 16 && type != Type::b128) d.refuse("a vector has at most 16 bytes");
  const std::size_t first = returns ? 1 : 0;
  d.expect_operands(first + (cas ? 3 : 2) + (q.cache_hint ? 1 : 0));
  Update u;
  u.space = q.space;
  u.returns = returns;
  u.count = q.vector;
  u.address = d.address(d.operand(first), q.space);
  const auto rows = d.sources(d.operand(first + 1), type);
  if (rows.size() != q.vector) d.refuse(fmt::format("it names {} elements where {} are due", rows.size(), q.vector));
  std::copy(rows.begin(), rows.end(), u.b.begin());
  if (cas) u.c = d.source(d.operand(first + 2), type);
  if (returns) {
    const auto to = d.destinations(d.operand(0), type);
    if (to.size() != q.vector) d.refuse(fmt::format("it names {} results where {} are due", to.size(), q.vector));
    std::copy(to.begin(), to.end(), u.d.begin());
  }
  d.emit(handler, Effect::atomic_access(q.space, q.ordering, q.scope.value_or(Scope::device), cas), u);
}

}  // namespace

void atomic(FunctionDecoder& d) { decode(d, true); }
void reduction(FunctionDecoder& d) {
  if (d.modifiers.has("async")) return reduction_async(d);
  decode(d, false);
}

}  // namespace wm::vgpu::isa
