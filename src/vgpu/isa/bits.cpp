// Logic, shifts and bit fields.
#include <bit>

#include "vgpu/isa/families.hpp"
#include "vgpu/isa/lanes.hpp"
#include "vgpu/isa/numeric/integer.hpp"

namespace wm::vgpu::isa {

using ptx::Type;

namespace {

template <class T>
T and_of(T a, T b) {
  return a & b;
}
template <class T>
T or_of(T a, T b) {
  return a | b;
}
template <class T>
T xor_of(T a, T b) {
  return a ^ b;
}
template <class T>
T not_of(T a) {
  return static_cast<T>(~a);
}
template <class T>
T logical_not_of(T a) {
  return a == 0;
}

u32 and_predicates(u32 a, u32 b) { return a & b; }
u32 or_predicates(u32 a, u32 b) { return a | b; }
u32 xor_predicates(u32 a, u32 b) { return a ^ b; }

struct TwoPredicates {
  Predicate a, b;
};
template <u32 (*f)(u32, u32)>
Step predicate_logic(Warp& warp, const Op& op, u32 active) {
  const auto& p = op.as<TwoPredicates>();
  warp.set_predicate(op.d.row(), f(warp.predicate(p.a), warp.predicate(p.b)), active);
  return Step::go;
}

template <class Make>
void logic(FunctionDecoder& d, Handler predicates, Make make) {
  const Type type = d.modifiers.take_type();
  if (type == Type::pred) {
    d.expect_operands(3);
    TwoPredicates detail{d.predicate(d.operand(1)), d.predicate(d.operand(2))};
    const u32 to = d.predicate_destination(d.operand(0));
    d.emit(predicates, Effect::arithmetic(), detail).d = Operand::reg(to);
    return;
  }
  emit_arithmetic(d, for_type<u16, u32, u64>(d, type, make), type, {type, type});
}

// Shift counts are unsigned and stop at the width.
template <class T>
T left_of(T a, u32 count) {
  return static_cast<T>(count >= 8 * sizeof(T) ? 0 : Word<T>(a) << count);
}
template <class T>
T right_of(T a, u32 count) {
  constexpr u32 width = 8 * sizeof(T);
  if constexpr (std::is_signed_v<T>)
    return static_cast<T>(a >> (count > width - 1 ? width - 1 : count));
  else
    return static_cast<T>(count >= width ? 0 : a >> count);
}

template <bool left, bool wrap>
u32 funnel_of(u32 low, u32 high, u32 count) {
  return left ? numeric::funnel_left(low, high, count, wrap) : numeric::funnel_right(low, high, count, wrap);
}

template <numeric::Permute mode>
u32 permute_of(u32 a, u32 b, u32 selector) {
  return numeric::permute(a, b, selector, mode);
}

template <class T>
T extract_of(T a, u32 position, u32 length) {
  return static_cast<T>(
      numeric::extract_bits(std::make_unsigned_t<T>(a), position, length, 8 * sizeof(T), std::is_signed_v<T>));
}

template <class T>
u32 highest_of(T a) {
  return numeric::find_highest(std::make_unsigned_t<T>(a), 8 * sizeof(T), std::is_signed_v<T>, false);
}
template <class T>
u32 shift_to_highest_of(T a) {
  return numeric::find_highest(std::make_unsigned_t<T>(a), 8 * sizeof(T), std::is_signed_v<T>, true);
}
// The offset-th set bit from `base` on, upwards or downwards; with offset 0 the bit at `base` itself.
u32 nth_set_of(u32 mask, u32 base, i32 offset) {
  if (base > 31) return ~0u;
  if (offset == 0) return mask >> base & 1 ? base : ~0u;
  const int step = offset > 0 ? 1 : -1;
  i64 left = offset > 0 ? offset : -i64{offset};
  for (int at = static_cast<int>(base); at >= 0 && at < 32; at += step)
    if ((mask >> at & 1) != 0 && --left == 0) return static_cast<u32>(at);
  return ~0u;
}
template <class T>
T reverse_of(T a) {
  return static_cast<T>(numeric::reverse_bits(a, 8 * sizeof(T)));
}
template <class T>
u32 leading_zeros_of(T a) {
  return static_cast<u32>(std::countl_zero(a));
}
template <class T>
u32 ones_of(T a) {
  return static_cast<u32>(std::popcount(a));
}

template <bool wrap>
u32 mask_of(u32 position, u32 length) {
  if (wrap) position &= 31, length &= 31;
  if (position >= 32 || length == 0) return 0;
  return (length >= 32 ? ~0u : (1u << length) - 1) << position;
}
template <class T, bool wrap>
T extend_of(T a, u32 bits) {
  if (wrap) bits &= 31;
  if (bits == 0) return 0;
  if (bits >= 32) return a;
  const u32 up = static_cast<u32>(a) << (32 - bits);
  return std::is_signed_v<T> ? static_cast<T>(static_cast<i32>(up) >> (32 - bits)) : static_cast<T>(up >> (32 - bits));
}

// lop3 with the table as 8 masks, so that a row needs no table look-up per bit.
Step lop3_row(Warp& warp, const Op& op, u32 active) {
  const u32* a = warp.source32(op.a);
  const u32* b = warp.source32(op.b);
  const u32* c = warp.source32(op.c);
  const auto bit = [&](int i) { return op.immediate >> i & 1 ? ~0u : 0u; };
  const u32 t0 = bit(0), t1 = bit(1), t2 = bit(2), t3 = bit(3), t4 = bit(4), t5 = bit(5), t6 = bit(6), t7 = bit(7);
  fill_row(warp.row32(op.d), active, [&](u32 i) {
    const u32 x = a[i], y = b[i], z = c[i];
    const u32 without_x = (~y & ((~z & t0) | (z & t1))) | (y & ((~z & t2) | (z & t3)));
    const u32 with_x = (~y & ((~z & t4) | (z & t5))) | (y & ((~z & t6) | (z & t7)));
    return (~x & without_x) | (x & with_x);
  });
  return Step::go;
}

struct Lop3Predicate {
  u32 destination;
  Predicate with;
  bool conjunction;
};
Step lop3_predicate(Warp& warp, const Op& op, u32 active) {
  lop3_row(warp, op, active);
  const auto& p = op.as<Lop3Predicate>();
  const u32* d = warp.row32(op.d);
  const u32 nonzero = ballot_of([&](u32 i) { return d[i] != 0; });
  const u32 with = warp.predicate(p.with);
  warp.set_predicate(p.destination, p.conjunction ? nonzero & with : nonzero | with, active);
  return Step::go;
}

struct InsertOperands {
  Operand length;
};
template <class T>
Step insert_row(Warp& warp, const Op& op, u32 active) {
  const auto* a = source_row<T>(warp, op.a);
  const auto* b = source_row<T>(warp, op.b);
  const u32* position = warp.source32(op.c);
  const u32* length = warp.source32(op.as<InsertOperands>().length);
  fill_row(destination_row<T>(warp, op.d), active, [&](u32 i) {
    return static_cast<Word<T>>(numeric::insert_bits(a[i], b[i], position[i], length[i], 8 * sizeof(T)));
  });
  return Step::go;
}

Step not_predicate(Warp& warp, const Op& op, u32 active) {
  warp.set_predicate(op.d.row(), warp.predicate(op.as<Predicate>()), active);
  return Step::go;
}

}  // namespace

void bitwise_and(FunctionDecoder& d) {
  logic(d, &predicate_logic<&and_predicates>, []<class T> { return lanewise<&and_of<T>>; });
}
void bitwise_or(FunctionDecoder& d) {
  logic(d, &predicate_logic<&or_predicates>, []<class T> { return lanewise<&or_of<T>>; });
}
void bitwise_xor(FunctionDecoder& d) {
  logic(d, &predicate_logic<&xor_predicates>, []<class T> { return lanewise<&xor_of<T>>; });
}

void bitwise_not(FunctionDecoder& d) {
  const Type type = d.modifiers.take_type();
  if (type == Type::pred) {
    d.expect_operands(2);
    Predicate from = d.predicate(d.operand(1));
    from.flip = ~from.flip;
    const u32 to = d.predicate_destination(d.operand(0));
    d.emit(&not_predicate, Effect::arithmetic(), from).d = Operand::reg(to);
    return;
  }
  emit_arithmetic(d, for_type<u16, u32, u64>(d, type, []<class T> { return lanewise<&not_of<T>>; }), type, {type});
}

void logical_not(FunctionDecoder& d) {
  const Type type = d.modifiers.take_type();
  emit_arithmetic(d, for_type<u16, u32, u64>(d, type, []<class T> { return lanewise<&logical_not_of<T>>; }), type,
                  {type});
}

void lop3(FunctionDecoder& d) {
  const int boolean = d.modifiers.take_one_of({"or", "and"});
  if (d.modifiers.take_type() != Type::b32) d.refuse("its type is .b32");
  d.expect_operands(boolean < 0 ? 5 : 6);
  const Operand a = d.source(d.operand(1), Type::b32), b = d.source(d.operand(2), Type::b32),
                c = d.source(d.operand(3), Type::b32);
  const i64 table = d.constant(d.operand(4), "the look-up table");
  Operand to;
  Op* op = nullptr;
  if (boolean < 0) {
    to = d.destination(d.operand(0), Type::b32);
    op = &d.emit(&lop3_row, Effect::arithmetic());
  } else {
    const ptx::Operand& both = d.operand(0);
    if (both.kind != ptx::OperandKind::pair) d.refuse("with .and or .or its destination is d|p");
    to = d.destination(both.parts[0], Type::b32);
    Lop3Predicate detail{d.predicate_destination(both.parts[1]), d.predicate(d.operand(5)), boolean == 1};
    op = &d.emit(&lop3_predicate, Effect::arithmetic(), detail);
  }
  op->d = to;
  op->a = a;
  op->b = b;
  op->c = c;
  op->immediate = table;
}

void shift_left(FunctionDecoder& d) {
  const Type type = d.modifiers.take_type();
  emit_arithmetic(d, for_type<u16, u32, u64>(d, type, []<class T> { return lanewise<&left_of<T>>; }), type,
                  {type, Type::u32});
}

void shift_right(FunctionDecoder& d) {
  const Type type = d.modifiers.take_type();
  emit_arithmetic(d, for_type<u16, i16, u32, i32, u64, i64>(d, type, []<class T> { return lanewise<&right_of<T>>; }),
                  type, {type, Type::u32});
}

void funnel_shift(FunctionDecoder& d) {
  const int direction = d.modifiers.take_one_of({"l", "r"});
  const int mode = d.modifiers.take_one_of({"clamp", "wrap"});
  if (d.modifiers.take_type() != Type::b32 || direction < 0 || mode < 0) d.refuse("it is shf.{l|r}.{clamp|wrap}.b32");
  const Handler h = direction == 0
                        ? (mode == 1 ? lanewise<&funnel_of<true, true>> : lanewise<&funnel_of<true, false>>)
                        : (mode == 1 ? lanewise<&funnel_of<false, true>> : lanewise<&funnel_of<false, false>>);
  emit_lanewise(d, Effect::none(), h, Type::b32, {Type::b32, Type::b32, Type::b32});
}

void permute(FunctionDecoder& d) {
  using numeric::Permute;
  if (d.modifiers.take_type() != Type::b32) d.refuse("its type is .b32");
  Handler h = lanewise<&permute_of<Permute::index>>;
  switch (d.modifiers.take_one_of({"f4e", "b4e", "rc8", "ecl", "ecr", "rc16"})) {
    case 0: h = lanewise<&permute_of<Permute::f4e>>; break;
    case 1: h = lanewise<&permute_of<Permute::b4e>>; break;
    case 2: h = lanewise<&permute_of<Permute::rc8>>; break;
    case 3: h = lanewise<&permute_of<Permute::ecl>>; break;
    case 4: h = lanewise<&permute_of<Permute::ecr>>; break;
    case 5: h = lanewise<&permute_of<Permute::rc16>>; break;
    default: break;
  }
  emit_lanewise(d, Effect::none(), h, Type::b32, {Type::b32, Type::b32, Type::b32});
}

void extract_bits(FunctionDecoder& d) {
  const Type type = d.modifiers.take_type();
  emit_arithmetic(d, for_type<u32, i32, u64, i64>(d, type, []<class T> { return lanewise<&extract_of<T>>; }), type,
                  {type, Type::u32, Type::u32});
}

void insert_bits(FunctionDecoder& d) {
  const Type type = d.modifiers.take_type();
  const Handler h = for_type<u32, u64>(d, type, []<class T> { return Handler(&insert_row<T>); });
  d.expect_operands(5);
  const Operand a = d.source(d.operand(1), type), b = d.source(d.operand(2), type);
  const Operand position = d.source(d.operand(3), Type::u32);
  InsertOperands detail{d.source(d.operand(4), Type::u32)};
  const Operand to = d.destination(d.operand(0), type);
  Op& op = d.emit(h, Effect::none(), detail);
  op.d = to;
  op.a = a;
  op.b = b;
  op.c = position;
}

void find_highest(FunctionDecoder& d) {
  const bool shift = d.modifiers.take("shiftamt");
  const Type type = d.modifiers.take_type();
  const Handler h =
      shift ? for_type<u32, i32, u64, i64>(d, type, []<class T> { return lanewise<&shift_to_highest_of<T>>; })
            : for_type<u32, i32, u64, i64>(d, type, []<class T> { return lanewise<&highest_of<T>>; });
  emit_arithmetic(d, h, Type::u32, {type});
}

void find_nth_set(FunctionDecoder& d) {
  if (d.modifiers.take_type() != Type::b32) d.refuse("its type is .b32");
  emit_arithmetic(d, lanewise<&nth_set_of>, Type::b32, {Type::b32, Type::b32, Type::s32});
}

void reverse_bits(FunctionDecoder& d) {
  const Type type = d.modifiers.take_type();
  emit_arithmetic(d, for_type<u32, u64>(d, type, []<class T> { return lanewise<&reverse_of<T>>; }), type, {type});
}
void count_leading_zeros(FunctionDecoder& d) {
  const Type type = d.modifiers.take_type();
  emit_arithmetic(d, for_type<u32, u64>(d, type, []<class T> { return lanewise<&leading_zeros_of<T>>; }), Type::u32,
                  {type});
}
void count_bits(FunctionDecoder& d) {
  const Type type = d.modifiers.take_type();
  emit_arithmetic(d, for_type<u32, u64>(d, type, []<class T> { return lanewise<&ones_of<T>>; }), Type::u32, {type});
}

void bit_mask(FunctionDecoder& d) {
  const int mode = d.modifiers.take_one_of({"clamp", "wrap"});
  if (d.modifiers.take_type() != Type::b32 || mode < 0) d.refuse("it is bmsk.{clamp|wrap}.b32");
  emit_arithmetic(d, mode == 1 ? lanewise<&mask_of<true>> : lanewise<&mask_of<false>>, Type::b32,
                  {Type::b32, Type::b32});
}

void sign_extend(FunctionDecoder& d) {
  const int mode = d.modifiers.take_one_of({"clamp", "wrap"});
  if (mode < 0) d.refuse("it is szext.{clamp|wrap}.{u32|s32}");
  const Type type = d.modifiers.take_type();
  const Handler h = mode == 1 ? for_type<u32, i32>(d, type, []<class T> { return lanewise<&extend_of<T, true>>; })
                              : for_type<u32, i32>(d, type, []<class T> { return lanewise<&extend_of<T, false>>; });
  emit_arithmetic(d, h, type, {type, Type::u32});
}

}  // namespace wm::vgpu::isa
