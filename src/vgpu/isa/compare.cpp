// Comparisons and selections.
#include <cmath>
#include <limits>

#include "vgpu/isa/families.hpp"
#include "vgpu/isa/floating.hpp"
#include "vgpu/isa/numeric/arithmetic.hpp"

namespace wm::vgpu::isa {

using numeric::Comparison;
using numeric::Format;
using ptx::Type;

namespace {

enum class Boolean : u8 { none, conjunction, disjunction, exclusive };

struct Compare {
  FloatType type;  // of floats
  Comparison comparison = Comparison::eq;
  bool ftz = false;
  Boolean boolean = Boolean::none;
  Predicate with;  // the operand of .and, .or, .xor
  u32 p = sink_predicate, q = sink_predicate;
  bool float_result = false;  // set.f32: 1.0 instead of all ones
  bool half_result = false;   // 16-bit destination
  u32 one = 0;                // what `set` writes for true
};

u32 combine(const Warp& warp, const Compare& c, u32 bits) {
  switch (c.boolean) {
    case Boolean::none: return bits;
    case Boolean::conjunction: return bits & warp.predicate(c.with);
    case Boolean::disjunction: return bits | warp.predicate(c.with);
    case Boolean::exclusive: return bits ^ warp.predicate(c.with);
  }
  return bits;
}

template <class T, Comparison comparison>
bool holds(T a, T b) {
  if constexpr (comparison == Comparison::eq) return a == b;
  if constexpr (comparison == Comparison::ne) return a != b;
  if constexpr (comparison == Comparison::lt) return a < b;
  if constexpr (comparison == Comparison::le) return a <= b;
  if constexpr (comparison == Comparison::gt) return a > b;
  if constexpr (comparison == Comparison::ge) return a >= b;
  if constexpr (comparison == Comparison::equ) return !(a < b || a > b);
  if constexpr (comparison == Comparison::neu) return !(a == b);
  if constexpr (comparison == Comparison::ltu) return !(a >= b);
  if constexpr (comparison == Comparison::leu) return !(a > b);
  if constexpr (comparison == Comparison::gtu) return !(a <= b);
  if constexpr (comparison == Comparison::geu) return !(a < b);
  if constexpr (comparison == Comparison::num) return a == a && b == b;
  return !(a == a && b == b);
}
// For floats `ne` is ordered: false with NaN.
template <>
bool holds<float, Comparison::ne>(float a, float b) {
  return a < b || a > b;
}
template <>
bool holds<double, Comparison::ne>(double a, double b) {
  return a < b || a > b;
}

template <class T, Comparison comparison>
u32 compare_rows(const Warp& warp, const Op& op) {
  const auto *a = source_row<T>(warp, op.a), *b = source_row<T>(warp, op.b);
  return ballot_of([&](u32 i) { return holds<T, comparison>(from_word<T>(a[i]), from_word<T>(b[i])); });
}

// Packed halves have a result each; f32 and f64 that need .ftz and 16-bit floats take the general way.
u32 compare_general(const Warp& warp, const Op& op, const Compare& c, u32 shift) {
  if (c.type.format == Format::f64) {
    const u64 *a = warp.source64(op.a), *b = warp.source64(op.b);
    return ballot_of([&](u32 i) { return numeric::compare(c.comparison, c.type.format, a[i], b[i], c.ftz); });
  }
  const u32 width = c.type.format == Format::f32 ? ~0u : 0xffffu;
  const u32 *a = warp.source32(op.a), *b = warp.source32(op.b);
  return ballot_of([&](u32 i) {
    return numeric::compare(c.comparison, c.type.format, a[i] >> shift & width, b[i] >> shift & width, c.ftz);
  });
}

using Test = u32 (*)(const Warp&, const Op&);

template <Test test>
Step set_predicates(Warp& warp, const Op& op, u32 active) {
  const auto& c = op.as<Compare>();
  const u32 bits = test(warp, op);
  const u32 p = combine(warp, c, bits);
  const u32 q = combine(warp, c, ~bits);
  warp.set_predicate(c.p, p, active);
  warp.set_predicate(c.q, q, active);
  return Step::go;
}
// The usual one: a single predicate and no boolean operation.
template <Test test>
Step set_one_predicate(Warp& warp, const Op& op, u32 active) {
  warp.set_predicate(op.d.row(), test(warp, op), active);
  return Step::go;
}
Step set_predicates_general(Warp& warp, const Op& op, u32 active) {
  const auto& c = op.as<Compare>();
  const u32 low = compare_general(warp, op, c, 0);
  if (c.type.pair) {
    const u32 high = compare_general(warp, op, c, 16);
    const u32 p = combine(warp, c, low), q = combine(warp, c, high);
    warp.set_predicate(c.p, p, active);
    warp.set_predicate(c.q, q, active);
    return Step::go;
  }
  const u32 p = combine(warp, c, low), q = combine(warp, c, ~low);
  warp.set_predicate(c.p, p, active);
  warp.set_predicate(c.q, q, active);
  return Step::go;
}

template <Test test>
Step set_value(Warp& warp, const Op& op, u32 active) {
  const auto& c = op.as<Compare>();
  const u32 bits = combine(warp, c, test(warp, op));
  fill_row(warp.row32(op.d), active, [&](u32 i) { return bits >> i & 1 ? c.one : 0; });
  return Step::go;
}
Step set_value_general(Warp& warp, const Op& op, u32 active) {
  const auto& c = op.as<Compare>();
  const u32 low = combine(warp, c, compare_general(warp, op, c, 0));
  const u32 high = c.type.pair ? combine(warp, c, compare_general(warp, op, c, 16)) : 0;
  fill_row(warp.row32(op.d), active, [&](u32 i) {
    const u32 one = c.type.pair ? c.one & 0xffff : c.one;
    return (low >> i & 1 ? one : 0) | (high >> i & 1 ? one << 16 : 0);
  });
  return Step::go;
}

Comparison take_comparison(FunctionDecoder& d, bool& is_unsigned_name) {
  is_unsigned_name = true;
  switch (d.modifiers.take_one_of({"lo", "ls", "hi", "hs"})) {
    case 0: return Comparison::lt;
    case 1: return Comparison::le;
    case 2: return Comparison::gt;
    case 3: return Comparison::ge;
    default: break;
  }
  is_unsigned_name = false;
  const int index = d.modifiers.take_one_of(
      {"eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"});
  if (index < 0) d.refuse("it needs a comparison");
  return static_cast<Comparison>(index);
}

void take_boolean(FunctionDecoder& d, Compare& c) {
  switch (d.modifiers.take_one_of({"and", "or", "xor"})) {
    case 0: c.boolean = Boolean::conjunction; break;
    case 1: c.boolean = Boolean::disjunction; break;
    case 2: c.boolean = Boolean::exclusive; break;
    default: break;
  }
}

// make.operator()<test>() for the comparison of a type.
template <class T, class Make, std::size_t... i>
Handler for_comparison(Comparison comparison, Make make, std::index_sequence<i...>) {
  Handler handler = nullptr;
  ((comparison == static_cast<Comparison>(i)
        ? (handler = make.template operator()<&compare_rows<T, static_cast<Comparison>(i)>>(), true)
        : false) ||
   ...);
  return handler;
}

template <class Make>
Handler pick(FunctionDecoder& d, const Compare& c, Type type, Handler general, Make make) {
  if (is_float(type)) {
    if (c.ftz || (type != Type::f32 && type != Type::f64)) return general;
    return type == Type::f32 ? for_comparison<float>(c.comparison, make, std::make_index_sequence<14>())
                             : for_comparison<double>(c.comparison, make, std::make_index_sequence<14>());
  }
  if (static_cast<int>(c.comparison) > static_cast<int>(Comparison::ge)) d.refuse("integers have no such comparison");
  if (type == Type::b16 || type == Type::b32 || type == Type::b64)
    if (c.comparison != Comparison::eq && c.comparison != Comparison::ne)
      d.refuse("bits compare with .eq and .ne only");
  return for_type<u16, i16, u32, i32, u64, i64>(
      d, type, [&]<class T> { return for_comparison<T>(c.comparison, make, std::make_index_sequence<6>()); });
}

void read_settings(FunctionDecoder& d, Compare& c, Type type, bool unsigned_name) {
  const bool is_unsigned = type == Type::u16 || type == Type::u32 || type == Type::u64;
  if (unsigned_name && !is_unsigned) d.refuse(".lo, .ls, .hi and .hs compare unsigned integers");
  if (is_float(type)) c.type = float_type(d, type);
}

}  // namespace

void set_predicate(FunctionDecoder& d) {
  Compare c;
  bool unsigned_name = false;
  c.comparison = take_comparison(d, unsigned_name);
  take_boolean(d, c);
  c.ftz = d.modifiers.take("ftz");
  const Type type = d.modifiers.take_type();
  read_settings(d, c, type, unsigned_name);
  d.expect_operands(c.boolean == Boolean::none ? 3 : 4);
  const ptx::Operand& to = d.operand(0);
  const bool two = to.kind == ptx::OperandKind::pair;
  c.p = d.predicate_destination(two ? to.parts[0] : to);
  if (two) c.q = d.predicate_destination(to.parts[1]);
  if (c.boolean != Boolean::none) c.with = d.predicate(d.operand(3));
  const bool plain = !two && c.boolean == Boolean::none;
  const Handler handler =
      plain ? pick(d, c, type, &set_predicates_general, []<Test test> { return Handler(&set_one_predicate<test>); })
            : pick(d, c, type, &set_predicates_general, []<Test test> { return Handler(&set_predicates<test>); });
  const Operand a = d.source(d.operand(1), type), b = d.source(d.operand(2), type);
  const u32 p = c.p;
  Op& op = d.emit(handler, Effect::arithmetic(), c);
  op.d = Operand::reg(p);
  op.a = a;
  op.b = b;
}

void set(FunctionDecoder& d) {
  Compare c;
  bool unsigned_name = false;
  c.comparison = take_comparison(d, unsigned_name);
  take_boolean(d, c);
  c.ftz = d.modifiers.take("ftz");
  const Type to = d.modifiers.take_type();
  const Type type = d.modifiers.take_type();
  read_settings(d, c, type, unsigned_name);
  switch (to) {
    case Type::u32:
    case Type::s32:
    case Type::b32: c.one = ~0u; break;
    case Type::f32: c.one = 0x3f800000; break;
    case Type::u16:
    case Type::s16:
    case Type::b16: c.one = 0xffff; break;
    case Type::f16: c.one = 0x3c00; break;
    case Type::bf16: c.one = 0x3f80; break;
    case Type::f16x2: c.one = 0x3c00; break;
    case Type::bf16x2: c.one = 0x3f80; break;
    default: d.refuse("it has no such result type");
  }
  if (c.type.pair && (to == Type::u32 || to == Type::s32 || to == Type::b32)) c.one = 0xffff;
  d.expect_operands(c.boolean == Boolean::none ? 3 : 4);
  if (c.boolean != Boolean::none) c.with = d.predicate(d.operand(3));
  const Handler handler = pick(d, c, type, &set_value_general, []<Test test> { return Handler(&set_value<test>); });
  const Operand a = d.source(d.operand(1), type), b = d.source(d.operand(2), type);
  const Operand row = d.destination(d.operand(0), to);
  Op& op = d.emit(handler, Effect::arithmetic(), c);
  op.d = row;
  op.a = a;
  op.b = b;
}

namespace {

template <class W>
Step select_row(Warp& warp, const Op& op, u32 active) {
  const auto *a = source_row<W>(warp, op.a), *b = source_row<W>(warp, op.b);
  const u32 bits = warp.predicate(op.as<Predicate>());
  fill_row(destination_row<W>(warp, op.d), active, [&](u32 i) { return bits >> i & 1 ? a[i] : b[i]; });
  return Step::go;
}

template <class W>
W select_nonnegative(W a, W b, i32 c) {
  return c >= 0 ? a : b;
}
template <class W>
W select_float(W a, W b, float c) {
  return c >= 0 ? a : b;
}  // -0 counts as 0, NaN takes b
template <class W>
W select_flushed(W a, W b, float c) {
  return select_float(a, b, std::fabs(c) < std::numeric_limits<float>::min() ? 0.f : c);
}

struct Tested {
  numeric::Property property;
  Format format;
};
Step test_row(Warp& warp, const Op& op, u32 active) {
  const auto& t = op.as<Tested>();
  const u32 bits =
      t.format == Format::f64
          ? ballot_of([&](u32 i) { return numeric::test_property(t.property, t.format, warp.source64(op.a)[i]); })
          : ballot_of([&](u32 i) { return numeric::test_property(t.property, t.format, warp.source32(op.a)[i]); });
  warp.set_predicate(op.d.row(), bits, active);
  return Step::go;
}

}  // namespace

void select(FunctionDecoder& d) {
  const Type type = d.modifiers.take_type();
  const u32 bytes = ptx::bytes_of(type);
  if (bytes != 2 && bytes != 4 && bytes != 8) d.refuse("its types have 16, 32 or 64 bits");
  d.expect_operands(4);
  const Operand a = d.source(d.operand(1), type), b = d.source(d.operand(2), type);
  const Predicate by = d.predicate(d.operand(3));
  const Operand to = d.destination(d.operand(0), type);
  Op& op = d.emit(bytes == 8 ? &select_row<u64> : &select_row<u32>, Effect::none(), by);
  op.d = to;
  op.a = a;
  op.b = b;
}

void select_by_sign(FunctionDecoder& d) {
  const bool ftz = d.modifiers.take("ftz");
  const Type type = d.modifiers.take_type();
  const Type by = d.modifiers.take_type();
  const u32 bytes = ptx::bytes_of(type);
  if (bytes != 2 && bytes != 4 && bytes != 8) d.refuse("its types have 16, 32 or 64 bits");
  if (by != Type::s32 && by != Type::f32) d.refuse("it selects by .s32 or .f32");
  if (ftz && by != Type::f32) d.refuse("`.ftz` is for .f32");
  const Handler h = by == Type::s32
                        ? (bytes == 8 ? lanewise<&select_nonnegative<u64>> : lanewise<&select_nonnegative<u32>>)
                    : ftz ? (bytes == 8 ? lanewise<&select_flushed<u64>> : lanewise<&select_flushed<u32>>)
                          : (bytes == 8 ? lanewise<&select_float<u64>> : lanewise<&select_float<u32>>);
  emit_lanewise(d, Effect::none(), h, type, {type, type, by});
}

void test_property(FunctionDecoder& d) {
  const int property = d.modifiers.take_one_of({"finite", "infinite", "number", "notanumber", "normal", "subnormal"});
  if (property < 0) d.refuse("it needs a property");
  const Type type = d.modifiers.take_type();
  if (type != Type::f32 && type != Type::f64) d.refuse("its types are .f32 and .f64");
  d.expect_operands(2);
  const Operand a = d.source(d.operand(1), type);
  const u32 to = d.predicate_destination(d.operand(0));
  Op& op = d.emit(&test_row, Effect::arithmetic(),
                  Tested{static_cast<numeric::Property>(property), float_type(d, type).format});
  op.d = Operand::reg(to);
  op.a = a;
}

}  // namespace wm::vgpu::isa
