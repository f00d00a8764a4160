// Lanes of one warp with each other: shfl, vote, match, redux, elect, activemask. The .sync forms wait until all lanes
// that their mask names have come.
#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "vgpu/isa/families.hpp"
#include "vgpu/isa/gather.hpp"
#include "vgpu/machine/block.hpp"
#include "vgpu/machine/observer.hpp"

namespace wm::vgpu::isa {

using ptx::OperandKind;
using ptx::Type;

namespace {

enum class Shuffle : u8 { up, down, butterfly, index };

struct ShuffleOperands {
  Operand members;
  u32 p = sink_predicate;
};

template <Shuffle mode>
Step shuffle_op(Warp& warp, const Op& op, u32 active) {
  const auto& s = op.as<ShuffleOperands>();
  if (const auto step = gather(warp, s.members, active)) return *step;
  const u32 *a = warp.source32(op.a), *b = warp.source32(op.b), *c = warp.source32(op.c);
  u32 result[lanes_per_warp];
  u32 valid = 0;
  for (u32 lane = 0; lane < lanes_per_warp; ++lane) {
    const u32 distance = b[lane] & 31, clamp = c[lane] & 31, segment = c[lane] >> 8 & 31;
    const u32 highest = (lane & segment) | (clamp & ~segment), lowest = lane & segment;
    u32 from = lane;
    bool inside = false;
    switch (mode) {
      case Shuffle::up:
        from = lane - distance;
        inside = static_cast<i32>(from) >= static_cast<i32>(highest);
        break;
      case Shuffle::down:
        from = lane + distance;
        inside = from <= highest;
        break;
      case Shuffle::butterfly:
        from = lane ^ distance;
        inside = from <= highest;
        break;
      case Shuffle::index:
        from = lowest | (distance & ~segment);
        inside = from <= highest;
        break;
    }
    if (!inside) from = lane;
    valid |= static_cast<u32>(inside) << lane;
    result[lane] = a[from & 31];
    const bool absent = (active >> lane & 1) != 0 && (active >> (from & 31) & 1) == 0;
    if (absent && warp.launch().observer != nullptr) [[unlikely]]
      warp.launch().observer->shuffles_absent(warp, op, lane, from & 31);
  }
  fill_row(warp.row32(op.d), active, [&](u32 i) { return result[i]; });
  warp.set_predicate(s.p, valid, active);
  return Step::go;
}

enum class Vote : u8 { all, any, uniform, ballot };
struct VoteOperands {
  Operand members;
  Predicate ask;
};
template <Vote mode>
Step vote_op(Warp& warp, const Op& op, u32 active) {
  const auto& v = op.as<VoteOperands>();
  if (const auto step = gather(warp, v.members, active)) return *step;
  const u32 yes = warp.predicate(v.ask) & active;
  if constexpr (mode == Vote::ballot) {
    fill_row(warp.row32(op.d), active, [&](u32) { return yes; });
  } else {
    const bool answer = mode == Vote::all ? yes == active : mode == Vote::any ? yes != 0 : yes == 0 || yes == active;
    warp.set_predicate(op.d.row(), answer ? all_lanes : 0, active);
  }
  return Step::go;
}

struct MatchOperands {
  Operand members;
  u32 p = sink_predicate;
};
template <class W, bool all>
Step match_op(Warp& warp, const Op& op, u32 active) {
  const auto& m = op.as<MatchOperands>();
  if (const auto step = gather(warp, m.members, active)) return *step;
  const W* a = source_row<W>(warp, op.a);
  u32 result[lanes_per_warp] = {};
  u32 agreed = 0;
  for_each_lane(active, [&](u32 i) {
    const u32 same = active & ballot_of([&](u32 j) { return a[j] == a[i]; });
    if (!all) {
      result[i] = same;
    } else if (same == active) {
      result[i] = active;
      agreed = all_lanes;
    }
  });
  fill_row(warp.row32(op.d), active, [&](u32 i) { return result[i]; });
  if (all) warp.set_predicate(m.p, agreed, active);
  return Step::go;
}

template <class T, T (*f)(T, T)>
Step reduce_op(Warp& warp, const Op& op, u32 active) {
  if (const auto step = gather(warp, op.b, active)) return *step;
  const u32* a = warp.source32(op.a);
  const u32 first = static_cast<u32>(std::countr_zero(active));
  T sum = static_cast<T>(a[first]);
  for_each_lane(active & ~(1u << first), [&](u32 i) { sum = f(sum, static_cast<T>(a[i])); });
  fill_row(warp.row32(op.d), active, [&](u32) { return static_cast<u32>(sum); });
  return Step::go;
}
u32 sum_of(u32 a, u32 b) { return a + b; }
u32 and_of(u32 a, u32 b) { return a & b; }
u32 or_of(u32 a, u32 b) { return a | b; }
u32 xor_of(u32 a, u32 b) { return a ^ b; }
template <class T>
T minimum_of(T a, T b) {
  return std::min(a, b);
}
template <class T>
T maximum_of(T a, T b) {
  return std::max(a, b);
}

// Of floats: numbers go before NaN, or with .NaN the other way round; -0 is less than +0.
struct FloatReduction {
  bool largest = false, absolute = false, nan = false;

  u32 read(u32 bits) const { return absolute ? bits & 0x7fffffff : bits; }
  static bool is_nan(u32 bits) { return (bits & 0x7fffffff) > 0x7f800000; }
  static i32 ordered(u32 bits) { return static_cast<i32>(bits >> 31 ? bits ^ 0x7fffffff : bits); }
  u32 choose(u32 a, u32 b) const {
    if (is_nan(a) || is_nan(b)) return is_nan(a) == nan ? a : b;
    return (ordered(a) > ordered(b)) == largest ? a : b;
  }
};
Step reduce_floats_op(Warp& warp, const Op& op, u32 active) {
  if (const auto step = gather(warp, op.b, active)) return *step;
  const auto& r = op.as<FloatReduction>();
  const u32* a = warp.source32(op.a);
  u32 chosen = r.read(a[std::countr_zero(active)]);
  for_each_lane(active, [&](u32 i) { chosen = r.choose(chosen, r.read(a[i])); });
  if (FloatReduction::is_nan(chosen)) chosen = 0x7fffffff;
  fill_row(warp.row32(op.d), active, [&](u32) { return chosen; });
  return Step::go;
}

void decode_reduce_floats(FunctionDecoder& d, int operation) {
  const Architecture& target = d.program().module().target;
  if (!d.chip().tensor_memory || !(target.specific || target.family))
    d.refuse(fmt::format("of .f32 it is of sm_100a and its family; this is code for {}", target.name()));
  if (operation != 1 && operation != 2) d.refuse("of .f32 it is .min or .max");
  FloatReduction r;
  r.largest = operation == 2;
  r.absolute = d.modifiers.take("abs");
  r.nan = d.modifiers.take("NaN");
  d.modifiers.take_type();
  d.expect_operands(3);
  const Operand row = d.destination(d.operand(0), Type::f32);
  const Operand a = d.source(d.operand(1), Type::f32), members = d.source(d.operand(2), Type::b32);
  Op& op = d.emit(&reduce_floats_op, Effect::gathering(), r);
  op.d = row;
  op.a = a;
  op.b = members;
}

// The chip elects the lowest lane.
Step elect_op(Warp& warp, const Op& op, u32 active) {
  if (const auto step = gather(warp, op.b, active)) return *step;
  const u32 leader = static_cast<u32>(std::countr_zero(active));
  fill_row(warp.row32(op.d), active, [&](u32) { return leader; });
  warp.set_predicate(static_cast<u32>(op.immediate), 1u << leader, active);
  return Step::go;
}

Step active_mask_op(Warp& warp, const Op& op, u32 active) {
  fill_row(warp.row32(op.d), active, [&](u32) { return active; });
  return Step::go;
}

void need_sync(FunctionDecoder& d) {
  if (!d.modifiers.take("sync")) d.refuse("only the .sync form exists since sm_70");
}

}  // namespace

void shuffle(FunctionDecoder& d) {
  need_sync(d);
  const int mode = d.modifiers.take_one_of({"up", "down", "bfly", "idx"});
  if (mode < 0 || d.modifiers.take_type() != Type::b32) d.refuse("it is shfl.sync.{up|down|bfly|idx}.b32");
  d.expect_operands(5);
  ShuffleOperands s;
  const ptx::Operand& to = d.operand(0);
  const bool two = to.kind == OperandKind::pair;
  const Operand row = d.destination(two ? to.parts[0] : to, Type::b32);
  if (two) s.p = d.predicate_destination(to.parts[1]);
  const Operand a = d.source(d.operand(1), Type::b32), b = d.source(d.operand(2), Type::b32),
                c = d.source(d.operand(3), Type::b32);
  s.members = d.source(d.operand(4), Type::b32);
  constexpr Handler handlers[] = {&shuffle_op<Shuffle::up>, &shuffle_op<Shuffle::down>, &shuffle_op<Shuffle::butterfly>,
                                  &shuffle_op<Shuffle::index>};
  Op& op = d.emit(handlers[mode], Effect::gathering(), s);
  op.d = row;
  op.a = a;
  op.b = b;
  op.c = c;
}

void vote(FunctionDecoder& d) {
  need_sync(d);
  const int mode = d.modifiers.take_one_of({"all", "any", "uni", "ballot"});
  const Type type = d.modifiers.take_type();
  if (mode < 0 || type != (mode == 3 ? Type::b32 : Type::pred))
    d.refuse("it is vote.sync.{all|any|uni}.pred or .ballot.b32");
  d.expect_operands(3);
  VoteOperands v;
  v.ask = d.predicate(d.operand(1));
  v.members = d.source(d.operand(2), Type::b32);
  const Operand to =
      mode == 3 ? d.destination(d.operand(0), Type::b32) : Operand::reg(d.predicate_destination(d.operand(0)));
  constexpr Handler handlers[] = {&vote_op<Vote::all>, &vote_op<Vote::any>, &vote_op<Vote::uniform>,
                                  &vote_op<Vote::ballot>};
  d.emit(handlers[mode], Effect::gathering(), v).d = to;
}

void match(FunctionDecoder& d) {
  const int mode = d.modifiers.take_one_of({"any", "all"});
  need_sync(d);
  const Type type = d.modifiers.take_type();
  if (mode < 0 || (type != Type::b32 && type != Type::b64)) d.refuse("it is match.{any|all}.sync.{b32|b64}");
  d.expect_operands(3);
  MatchOperands m;
  const ptx::Operand& to = d.operand(0);
  const bool two = to.kind == OperandKind::pair;
  if (two && mode == 0) d.refuse("only match.all has a predicate");
  const Operand row = d.destination(two ? to.parts[0] : to, Type::b32);
  if (two) m.p = d.predicate_destination(to.parts[1]);
  const Operand a = d.source(d.operand(1), type);
  m.members = d.source(d.operand(2), Type::b32);
  const Handler handler = type == Type::b64 ? (mode == 1 ? &match_op<u64, true> : &match_op<u64, false>)
                                            : (mode == 1 ? &match_op<u32, true> : &match_op<u32, false>);
  Op& op = d.emit(handler, Effect::gathering(), m);
  op.d = row;
  op.a = a;
}

void reduce_lanes(FunctionDecoder& d) {
  need_sync(d);
  const int operation = d.modifiers.take_one_of({"add", "min", "max", "and", "or", "xor"});
  if (d.modifiers.has("f32")) return decode_reduce_floats(d, operation);
  const Type type = d.modifiers.take_type();
  const bool is_signed = type == Type::s32;
  const bool bits = operation >= 3;
  if (bits ? type != Type::b32 : (type != Type::u32 && type != Type::s32))
    d.refuse("it is redux.sync.{add|min|max}.{u32|s32} or .{and|or|xor}.b32");
  const auto handler = [&]() -> Handler {
    switch (operation) {
      case 0: return &reduce_op<u32, &sum_of>;
      case 1: return is_signed ? &reduce_op<i32, &minimum_of<i32>> : &reduce_op<u32, &minimum_of<u32>>;
      case 2: return is_signed ? &reduce_op<i32, &maximum_of<i32>> : &reduce_op<u32, &maximum_of<u32>>;
      case 3: return &reduce_op<u32, &and_of>;
      case 4: return &reduce_op<u32, &or_of>;
      case 5: return &reduce_op<u32, &xor_of>;
      default: d.refuse("it needs an operation");
    }
  }();
  emit_lanewise(d, Effect::gathering(), handler, Type::b32, {Type::b32, Type::b32});
}

void elect(FunctionDecoder& d) {
  need_sync(d);
  d.expect_operands(2);
  const ptx::Operand& to = d.operand(0);
  if (to.kind != OperandKind::pair) d.refuse("its destination is d|p");
  const Operand row = d.destination(to.parts[0], Type::b32);
  const u32 p = d.predicate_destination(to.parts[1]);
  const Operand members = d.source(d.operand(1), Type::b32);
  Op& op = d.emit(&elect_op, Effect::none());
  op.d = row;
  op.b = members;
  op.immediate = p;
}

void active_mask(FunctionDecoder& d) {
  if (d.modifiers.take_type() != Type::b32) d.refuse("its type is .b32");
  d.expect_operands(1);
  const Operand row = d.destination(d.operand(0), Type::b32);
  d.emit(&active_mask_op, Effect::none()).d = row;
}

}  // namespace wm::vgpu::isa
