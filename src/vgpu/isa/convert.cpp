// cvt: between integers and floats of every width.
#include "vgpu/isa/numeric/convert.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "vgpu/isa/convert_narrow.hpp"
#include "vgpu/isa/families.hpp"
#include "vgpu/isa/floating.hpp"
#include "vgpu/isa/numeric/rows.hpp"

namespace wm::vgpu::isa {

using numeric::Format;
using numeric::Integer;
using numeric::Rounding;
using ptx::Type;

namespace {

// One side of a conversion.
struct Side {
  enum class Kind : u8 { integer, floating, pair } kind = Kind::integer;
  Integer integer;
  Format format = Format::f32;
  u32 bytes = 4;  // of the register that holds it
};

std::optional<Side> side_of(Type type) {
  const auto whole = [](int bits, bool is_signed) {
    return Side{Side::Kind::integer, {bits, is_signed}, {}, u32(bits / 8)};
  };
  const auto real = [](Format f, u32 bytes) { return Side{Side::Kind::floating, {}, f, bytes}; };
  const auto pair = [](Format f, u32 bytes) { return Side{Side::Kind::pair, {}, f, bytes}; };
  switch (type) {
    case Type::u8: return whole(8, false);
    case Type::s8: return whole(8, true);
    case Type::u16: return whole(16, false);
    case Type::s16: return whole(16, true);
    case Type::u32: return whole(32, false);
    case Type::s32: return whole(32, true);
    case Type::u64: return whole(64, false);
    case Type::s64: return whole(64, true);
    case Type::f16: return real(Format::f16, 2);
    case Type::bf16: return real(Format::bf16, 2);
    case Type::tf32: return real(Format::tf32, 4);
    case Type::f32: return real(Format::f32, 4);
    case Type::f64: return real(Format::f64, 8);
    case Type::f16x2: return pair(Format::f16, 4);
    case Type::bf16x2: return pair(Format::bf16, 4);
    case Type::e4m3x2: return pair(Format::e4m3, 2);
    case Type::e5m2x2: return pair(Format::e5m2, 2);
    default: return std::nullopt;
  }
}

struct Conversion {
  Side to, from;
  numeric::Mode mode;
  bool to_whole = false;  // .rni and its kin between floats
  bool wide_to = false;   // registers of 64 bits
  bool wide_from = false;
};

u64 convert_one(const Conversion& c, u64 value) {
  const bool from_integer = c.from.kind == Side::Kind::integer, to_integer = c.to.kind == Side::Kind::integer;
  if (from_integer && to_integer)
    return numeric::convert_integer(c.to.integer, c.from.integer, c.from.integer.extend(value), c.mode.sat);
  if (from_integer) return numeric::from_integer(c.to.format, c.from.integer, c.from.integer.extend(value), c.mode);
  if (to_integer) return numeric::to_integer(c.to.integer, c.from.format, value, c.mode.rounding, c.mode.ftz);
  if (c.to_whole) return numeric::round_to_integer(c.to.format, c.from.format, value, c.mode);
  return numeric::convert(c.to.format, c.from.format, value, c.mode);
}

Step convert_general(Warp& warp, const Op& op, u32 active) {
  const auto& c = op.as<Conversion>();
  const u64 width = c.from.bytes >= 8 ? ~u64{0} : (u64{1} << 8 * c.from.bytes) - 1;
  for_each_lane(active, [&](u32 i) {
    const u64 value = (c.wide_from ? warp.source64(op.a)[i] : warp.source32(op.a)[i]) & width;
    const u64 result = convert_one(c, value);
    if (c.wide_to)
      warp.row64(op.d)[i] = result;
    else
      warp.row32(op.d)[i] = static_cast<u32>(result);
  });
  return Step::go;
}

// cvt.bf16x2.f32 d, a, b: a becomes the upper half.
Step pack_general(Warp& warp, const Op& op, u32 active) {
  const auto& c = op.as<Conversion>();
  const u32 *a = warp.source32(op.a), *b = warp.source32(op.b);
  u32* d = warp.row32(op.d);
  for_each_lane(active, [&](u32 i) { d[i] = numeric::pack_pair(c.to.format, c.from.format, a[i], b[i], c.mode); });
  return Step::go;
}
Step pack_row(Warp& warp, const Op& op, u32 active) {
  numeric::rows::pack_f32(op.as<Conversion>().to.format, warp.row32(op.d), warp.source32(op.a), warp.source32(op.b),
                          active);
  return Step::go;
}
Step convert_pairs(Warp& warp, const Op& op, u32 active) {
  const auto& c = op.as<Conversion>();
  const u32* a = warp.source32(op.a);
  u32* d = warp.row32(op.d);
  const u32 width = c.from.bytes == 2 ? 0xffff : ~0u;
  for_each_lane(active, [&](u32 i) { d[i] = numeric::convert_pair(c.to.format, c.from.format, a[i] & width, c.mode); });
  return Step::go;
}
template <Format from>
Step widen_row(Warp& warp, const Op& op, u32 active) {
  numeric::rows::widen_to_f32(from, warp.row32(op.d), warp.source32(op.a), active);
  return Step::go;
}

// The plain ones, as vector code.
template <class To, class From>
Word<To> cut_or_extend(Word<From> value) {
  return static_cast<Word<To>>(
      static_cast<std::conditional_t<std::is_signed_v<To>, i64, u64>>(static_cast<To>(static_cast<From>(value))));
}
template <class To, class From>
Step convert_integers(Warp& warp, const Op& op, u32 active) {
  const auto* a = source_row<From>(warp, op.a);
  fill_row(destination_row<To>(warp, op.d), active, [&](u32 i) { return cut_or_extend<To, From>(a[i]); });
  return Step::go;
}
float float_of_signed(i32 a) { return static_cast<float>(a); }
float float_of_unsigned(u32 a) { return static_cast<float>(a); }
double double_of_signed(i32 a) { return a; }
double double_of_unsigned(u32 a) { return a; }

template <class To>
Handler integer_handler(Type from) {
  switch (from) {
    case Type::u8: return &convert_integers<To, u8>;
    case Type::s8: return &convert_integers<To, i8>;
    case Type::u16: return &convert_integers<To, u16>;
    case Type::s16: return &convert_integers<To, i16>;
    case Type::u32: return &convert_integers<To, u32>;
    case Type::s32: return &convert_integers<To, i32>;
    case Type::u64: return &convert_integers<To, u64>;
    case Type::s64: return &convert_integers<To, i64>;
    default: return nullptr;
  }
}
Handler integer_handler(Type to, Type from) {
  switch (to) {
    case Type::u8: return integer_handler<u8>(from);
    case Type::s8: return integer_handler<i8>(from);
    case Type::u16: return integer_handler<u16>(from);
    case Type::s16: return integer_handler<i16>(from);
    case Type::u32: return integer_handler<u32>(from);
    case Type::s32: return integer_handler<i32>(from);
    case Type::u64: return integer_handler<u64>(from);
    case Type::s64: return integer_handler<i64>(from);
    default: return nullptr;
  }
}

// Null where only the general way is right.
Handler fast_handler(Type to, Type from, const Conversion& c) {
  const numeric::Mode& m = c.mode;
  const bool plain = m.rounding == Rounding::rn && !m.ftz && !m.sat && !m.satfinite && !m.relu && !c.to_whole;
  const bool integers = c.to.kind == Side::Kind::integer && c.from.kind == Side::Kind::integer;
  if (integers && !m.sat) return integer_handler(to, from);
  if (!plain) return nullptr;
  if (to == Type::f32 && from == Type::s32) return lanewise<&float_of_signed>;
  if (to == Type::f32 && from == Type::u32) return lanewise<&float_of_unsigned>;
  if (to == Type::f64 && from == Type::s32) return lanewise<&double_of_signed>;
  if (to == Type::f64 && from == Type::u32) return lanewise<&double_of_unsigned>;
  if (to == Type::f32 && from == Type::f16) return &widen_row<Format::f16>;
  if (to == Type::f32 && from == Type::bf16) return &widen_row<Format::bf16>;
  return nullptr;
}

// cvt.pack.sat.u16.s32 d, a, b and cvt.pack.sat.s8.s32.b32 d, a, b, c (or s4, s2): saturated integers side by side, b
// lowest, the rest from c.
struct Pack {
  Integer to;
};
Step pack_integers(Warp& warp, const Op& op, u32 active) {
  const auto& p = op.as<Pack>();
  const u32 *a = warp.source32(op.a), *b = warp.source32(op.b), *c = warp.source32(op.c);
  u32* d = warp.row32(op.d);
  const u32 bits = static_cast<u32>(p.to.bits), mask = (1u << bits) - 1;
  for_each_lane(active, [&](u32 i) {
    const auto clamp = [&](u32 value) {
      return static_cast<u32>(numeric::convert_integer(p.to, {32, true}, Integer{32, true}.extend(value), true)) & mask;
    };
    const u32 pair = clamp(a[i]) << bits | clamp(b[i]);
    d[i] = bits == 16 ? pair : c[i] << 2 * bits | pair;
  });
  return Step::go;
}

void decode_pack(FunctionDecoder& d) {
  if (!d.modifiers.take("sat")) d.refuse("cvt.pack needs .sat");
  constexpr std::array names = {"u2", "s2", "u4", "s4", "u8", "s8", "u16", "s16"};
  const auto name = std::ranges::find_if(names, [&](const char* one) { return d.modifiers.take(one); });
  if (name == names.end()) d.refuse("cvt.pack converts to .u16, .s16 and integers of 8, 4 and 2 bits");
  const auto which = name - names.begin();
  const Integer to{2 << which / 2, which % 2 == 1};
  if (d.modifiers.take_type() != Type::s32) d.refuse("cvt.pack converts .s32");
  const bool third = d.modifiers.take("b32");
  if (third == (to.bits == 16))
    d.refuse("results of 8 bits and fewer take a third operand, .b32, and 16-bit ones do not");
  d.expect_operands(third ? 4 : 3);
  const Operand a = d.source(d.operand(1), Type::s32), b = d.source(d.operand(2), Type::s32);
  const Operand c = third ? d.source(d.operand(3), Type::b32) : d.constant32(0);
  const Operand row = d.destination(d.operand(0), Type::b32);
  Op& op = d.emit(&pack_integers, Effect::none(), Pack{to});
  op.d = row;
  op.a = a;
  op.b = b;
  op.c = c;
}

}  // namespace

void convert(FunctionDecoder& d) {
  if (d.modifiers.take("pack")) return decode_pack(d);
  if (d.modifiers.has("rs")) d.refuse("how .rs adds its random bits is not confirmed");
  if (convert_narrow(d)) return;
  Conversion c;
  const int rounding = d.modifiers.take_one_of({"rn", "rz", "rm", "rp", "rna", "rni", "rzi", "rmi", "rpi"});
  if (rounding >= 5) {
    c.to_whole = true;
    c.mode.rounding = static_cast<Rounding>(rounding - 5);
  } else if (rounding >= 0) {
    c.mode.rounding = static_cast<Rounding>(rounding);
  }
  c.mode.ftz = d.modifiers.take("ftz");
  c.mode.sat = d.modifiers.take("sat");
  c.mode.relu = d.modifiers.take("relu");
  c.mode.satfinite = d.modifiers.take("satfinite");
  const Type to = d.modifiers.take_type(), from = d.modifiers.take_type();
  const auto to_side = side_of(to), from_side = side_of(from);
  if (!to_side || !from_side) d.refuse("there is no such conversion here");
  c.to = *to_side;
  c.from = *from_side;
  const bool to_pair = c.to.kind == Side::Kind::pair, from_pair = c.from.kind == Side::Kind::pair;
  if (to_pair && from == Type::f32) {
    d.expect_operands(3);
    const Operand a = d.source(d.operand(1), from), b = d.source(d.operand(2), from);
    const Operand row = d.destination(d.operand(0), c.to.bytes);
    const bool plain = c.mode.rounding == Rounding::rn && !c.mode.relu && !c.mode.satfinite &&
                       (c.to.format == Format::f16 || c.to.format == Format::bf16);
    Op& op = d.emit(plain ? &pack_row : &pack_general, Effect::none(), c);
    op.d = row;
    op.a = a;
    op.b = b;
    return;
  }
  d.expect_operands(2);
  if (to_pair != from_pair) d.refuse("there is no such conversion here");
  const Operand a = d.source(d.operand(1), from);
  if (to_pair) {
    const Operand row = d.destination(d.operand(0), c.to.bytes);
    Op& op = d.emit(&convert_pairs, Effect::none(), c);
    op.d = row;
    op.a = a;
    return;
  }
  if (c.to.kind == Side::Kind::integer && c.from.kind == Side::Kind::floating && !c.to_whole)
    d.refuse("a float becomes an integer with .rni, .rzi, .rmi or .rpi");
  // The destination register may be wider than the type: integers are extended into it.
  const ptx::Operand& target = d.operand(0);
  const u32 width = target.kind == ptx::OperandKind::reg ? d.register_bytes(target) : c.to.bytes;
  const bool widened = c.to.kind == Side::Kind::integer && width == 8 && c.to.bytes < 8;
  c.wide_to = width == 8;
  c.wide_from = c.from.bytes == 8;
  const Operand row = d.destination(target, widened ? 8 : c.to.bytes);
  const Handler fast = widened ? nullptr : fast_handler(to, from, c);
  Op& op = d.emit(fast != nullptr ? fast : &convert_general, Effect::none(), c);
  op.d = row;
  op.a = a;
}

}  // namespace wm::vgpu::isa
