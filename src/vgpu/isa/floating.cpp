// Floating-point arithmetic of f16, bf16 (and their pairs), f32 and f64.
#include "vgpu/isa/floating.hpp"

#include "vgpu/isa/families.hpp"
#include "vgpu/isa/numeric/arithmetic.hpp"
#include "vgpu/isa/numeric/rows.hpp"

namespace wm::vgpu::isa {

using numeric::Format;
using ptx::Type;

bool is_float(Type type) {
  switch (type) {
    case Type::f16:
    case Type::f16x2:
    case Type::bf16:
    case Type::bf16x2:
    case Type::f32:
    case Type::f64: return true;
    default: return false;
  }
}

FloatType float_type(const FunctionDecoder& d, Type type) {
  switch (type) {
    case Type::f16: return {Format::f16, false};
    case Type::f16x2: return {Format::f16, true};
    case Type::bf16: return {Format::bf16, false};
    case Type::bf16x2: return {Format::bf16, true};
    case Type::f32: return {Format::f32, false};
    case Type::f64: return {Format::f64, false};
    default: d.refuse(type == Type::none ? "it has no type" : "it has no form for ." + std::string(ptx::name_of(type)));
  }
}

numeric::Mode take_mode(FunctionDecoder& d) {
  numeric::Mode mode;
  switch (d.modifiers.take_one_of({"rn", "rz", "rm", "rp"})) {
    case 1: mode.rounding = numeric::Rounding::rz; break;
    case 2: mode.rounding = numeric::Rounding::rm; break;
    case 3: mode.rounding = numeric::Rounding::rp; break;
    default: break;
  }
  mode.ftz = d.modifiers.take("ftz");
  mode.sat = d.modifiers.take("sat");
  mode.relu = d.modifiers.take("relu");
  return mode;
}

namespace {

struct Settings {
  FloatType type;
  numeric::Mode mode;
  numeric::MinMaxMode min_max;
};

// The general way: one lane after the other, the format and the mode looked at each time.
template <class Operation, class... Rows>
void each_lane(Warp& warp, const Op& op, u32 active, const Settings& s, Rows... rows) {
  if (s.type.format == Format::f64) {
    u64* d = warp.row64(op.d);
    for_each_lane(active, [&](u32 i) { d[i] = Operation::apply(s, warp.source64(rows)[i]...); });
    return;
  }
  u32* d = warp.row32(op.d);
  const auto one = [&](auto... values) { return Operation::apply(s, values...); };
  if (s.type.pair)
    for_each_lane(active, [&](u32 i) { d[i] = numeric::pairwise(one, warp.source32(rows)[i]...); });
  else
    for_each_lane(active, [&](u32 i) {
      const u32 width = s.type.format == Format::f32 ? all_lanes : 0xffff;
      d[i] = static_cast<u32>(one(static_cast<u64>(warp.source32(rows)[i] & width)...));
    });
}
template <class Operation>
Step unary(Warp& warp, const Op& op, u32 active) {
  each_lane<Operation>(warp, op, active, op.as<Settings>(), op.a);
  return Step::go;
}
template <class Operation>
Step binary(Warp& warp, const Op& op, u32 active) {
  each_lane<Operation>(warp, op, active, op.as<Settings>(), op.a, op.b);
  return Step::go;
}
template <class Operation>
Step ternary(Warp& warp, const Op& op, u32 active) {
  each_lane<Operation>(warp, op, active, op.as<Settings>(), op.a, op.b, op.c);
  return Step::go;
}

struct Add {
  static u64 apply(const Settings& s, u64 a, u64 b) { return numeric::add(s.type.format, a, b, s.mode); }
};
struct Subtract {
  static u64 apply(const Settings& s, u64 a, u64 b) { return numeric::subtract(s.type.format, a, b, s.mode); }
};
struct Multiply {
  static u64 apply(const Settings& s, u64 a, u64 b) { return numeric::multiply(s.type.format, a, b, s.mode); }
};
struct Fma {
  static u64 apply(const Settings& s, u64 a, u64 b, u64 c) { return numeric::fma(s.type.format, a, b, c, s.mode); }
};
struct Divide {
  static u64 apply(const Settings& s, u64 a, u64 b) { return numeric::divide(s.type.format, a, b, s.mode); }
};
struct Minimum {
  static u64 apply(const Settings& s, u64 a, u64 b) { return numeric::minimum(s.type.format, a, b, s.min_max); }
};
struct Maximum {
  static u64 apply(const Settings& s, u64 a, u64 b) { return numeric::maximum(s.type.format, a, b, s.min_max); }
};
struct Minimum3 {
  static u64 apply(const Settings& s, u64 a, u64 b, u64 c) {
    return numeric::minimum(s.type.format, numeric::minimum(s.type.format, a, b, s.min_max), c, s.min_max);
  }
};
struct Maximum3 {
  static u64 apply(const Settings& s, u64 a, u64 b, u64 c) {
    return numeric::maximum(s.type.format, numeric::maximum(s.type.format, a, b, s.min_max), c, s.min_max);
  }
};
struct Absolute {
  static u64 apply(const Settings& s, u64 a) { return numeric::absolute(s.type.format, a, s.mode.ftz); }
};
struct Negate {
  static u64 apply(const Settings& s, u64 a) { return numeric::negate(s.type.format, a, s.mode.ftz); }
};
struct CopySign {
  static u64 apply(const Settings& s, u64 a, u64 b) { return numeric::copy_sign(s.type.format, a, b); }
};

// The ways most instructions go: f32 rounded to nearest even, a row at a time. Bit 0 of the immediate is ftz, bit 1
// sat.
template <auto f>
Step f32_binary(Warp& warp, const Op& op, u32 active) {
  f(warp.row32(op.d), warp.source32(op.a), warp.source32(op.b), active, op.immediate & 1, op.immediate & 2);
  return Step::go;
}
Step f32_fma(Warp& warp, const Op& op, u32 active) {
  numeric::rows::fma_f32(warp.row32(op.d), warp.source32(op.a), warp.source32(op.b), warp.source32(op.c), active,
                         op.immediate & 1, op.immediate & 2);
  return Step::go;
}
template <auto f>
Step f32_min_max(Warp& warp, const Op& op, u32 active) {
  f(warp.row32(op.d), warp.source32(op.a), warp.source32(op.b), active, op.immediate & 1);
  return Step::go;
}

// The result, or the NaN among the operands that f64 passes on: the last one as they are given.
template <class... Operands>
double number(double result, Operands... operands) {
  double nan = std::bit_cast<double>(numeric::layout_of(Format::f64).canonical_nan);
  ((nan = operands == operands ? nan : std::bit_cast<double>(numeric::quiet(std::bit_cast<u64>(operands)))), ...);
  return result == result ? result : nan;
}
double add_f64(double a, double b) { return number(a + b, a, b); }
double subtract_f64(double a, double b) { return number(a - b, a, b); }
double multiply_f64(double a, double b) { return number(a * b, a, b); }
double fma_f64(double a, double b, double c) { return number(__builtin_fma(a, b, c), a, c, b); }

template <Format from>
Step widen(Warp& warp, const Op& op, u32 active) {
  numeric::rows::widen_to_f32(from, warp.row32(op.d), warp.source32(op.a), active);
  return Step::go;
}
// An operand of f16 or bf16 where f32 is computed, widened first: all but the last of add, sub and fma of sm_100.
Operand widened(FunctionDecoder& d, const ptx::Operand& operand, Type narrow) {
  if (d.chip().arch.major < 10) d.refuse("f32 of 16-bit operands is of sm_100 and later");
  const Operand a = d.source(operand, narrow), wide = d.temporary(4);
  Op& op = d.emit(narrow == Type::f16 ? &widen<Format::f16> : &widen<Format::bf16>, Effect::none());
  op.d = wide;
  op.a = a;
  return wide;
}

// The three-operand sums and products: add, sub, mul. `fast32` and `fast64` serve .rn.
// `takes_narrow`: whether all operands but the last may have 16 bits.
void arithmetic(FunctionDecoder& d, Handler general, Handler fast32, Handler fast64, std::size_t sources,
                bool takes_narrow = true) {
  const numeric::Mode mode = take_mode(d);
  const Type type = d.modifiers.take_type();
  const FloatType f = float_type(d, type);
  const bool half = f.format == Format::f16 || f.format == Format::bf16;
  if (half && mode.rounding != numeric::Rounding::rn) d.refuse("16-bit floats are rounded to nearest even: .rn");
  if (mode.relu && !(half && sources == 3)) d.refuse("`.relu` is for 16-bit floats");
  if (f.format == Format::f64 && (mode.ftz || mode.sat)) d.refuse("f64 has neither .ftz nor .sat");
  const bool nearest = mode.rounding == numeric::Rounding::rn;
  const bool fast = nearest && (f.format == Format::f32 || f.format == Format::f64);
  const Handler handler = !fast ? general : f.format == Format::f32 ? fast32 : fast64;
  Operand rows[3];
  d.expect_operands(1 + sources);
  const Type narrow = d.modifiers.has("f16") || d.modifiers.has("bf16") ? d.modifiers.take_type() : Type::none;
  if (narrow != Type::none && (f.format != Format::f32 || mode.ftz || !takes_narrow))
    d.refuse("16-bit operands are widened by add, sub and fma of f32, without .ftz");
  for (std::size_t i = 0; i < sources; ++i)
    rows[i] = narrow != Type::none && i + 1 < sources ? widened(d, d.operand(1 + i), narrow)
                                                      : d.source(d.operand(1 + i), type);
  const Operand to = d.destination(d.operand(0), type);
  Op& op = d.emit(handler, Effect::arithmetic(), Settings{f, mode, {}});
  op.d = to;
  op.a = rows[0];
  op.b = rows[1];
  op.c = rows[2];
  op.immediate = (mode.ftz ? 1 : 0) | (mode.sat ? 2 : 0);
}

void minimum_maximum(FunctionDecoder& d, Handler general, Handler general3, Handler fast32) {
  numeric::MinMaxMode mode;
  mode.ftz = d.modifiers.take("ftz");
  mode.nan = d.modifiers.take("NaN");
  mode.xorsign_abs = d.modifiers.take("xorsign") && d.modifiers.take("abs");
  const Type type = d.modifiers.take_type();
  const FloatType f = float_type(d, type);
  d.expect_operands(3, 4);
  const bool three = d.operands() == 4;
  if (three && (d.chip().arch.major < 10 || f.format != Format::f32 || mode.xorsign_abs))
    d.refuse("the form with three inputs is of sm_100 and later, for f32 without .xorsign");
  const bool fast = f.format == Format::f32 && !mode.nan && !mode.xorsign_abs && !three;
  const Operand a = d.source(d.operand(1), type), b = d.source(d.operand(2), type);
  const Operand c = three ? d.source(d.operand(3), type) : Operand{};
  const Operand to = d.destination(d.operand(0), type);
  Op& op = d.emit(fast ? fast32 : three ? general3 : general, Effect::arithmetic(), Settings{f, {}, mode});
  op.d = to;
  op.a = a;
  op.b = b;
  op.c = c;
  op.immediate = mode.ftz;
}

void sign(FunctionDecoder& d, Handler handler) {
  numeric::Mode mode;
  mode.ftz = d.modifiers.take("ftz");
  const Type type = d.modifiers.take_type();
  const FloatType f = float_type(d, type);
  d.expect_operands(2);
  const Operand a = d.source(d.operand(1), type);
  const Operand to = d.destination(d.operand(0), type);
  Op& op = d.emit(handler, Effect::arithmetic(), Settings{f, mode, {}});
  op.d = to;
  op.a = a;
}

}  // namespace

void float_add(FunctionDecoder& d) {
  arithmetic(d, &binary<Add>, &f32_binary<&numeric::rows::add_f32>, lanewise<&add_f64>, 2);
}
void float_subtract(FunctionDecoder& d) {
  arithmetic(d, &binary<Subtract>, &f32_binary<&numeric::rows::subtract_f32>, lanewise<&subtract_f64>, 2);
}
void float_multiply(FunctionDecoder& d) {
  arithmetic(d, &binary<Multiply>, &f32_binary<&numeric::rows::multiply_f32>, lanewise<&multiply_f64>, 2, false);
}
// mad of floats is fma.
void fused_multiply_add(FunctionDecoder& d) {
  if (d.modifiers.has("f32x2")) return float_pair_fma(d);
  arithmetic(d, &ternary<Fma>, &f32_fma, lanewise<&fma_f64>, 3);
}

void float_divide(FunctionDecoder& d) { arithmetic(d, &binary<Divide>, &binary<Divide>, &binary<Divide>, 2, false); }

void float_absolute(FunctionDecoder& d) { sign(d, &unary<Absolute>); }
void float_negate(FunctionDecoder& d) { sign(d, &unary<Negate>); }
void float_minimum(FunctionDecoder& d) {
  minimum_maximum(d, &binary<Minimum>, &ternary<Minimum3>, &f32_min_max<&numeric::rows::minimum_f32>);
}
void float_maximum(FunctionDecoder& d) {
  minimum_maximum(d, &binary<Maximum>, &ternary<Maximum3>, &f32_min_max<&numeric::rows::maximum_f32>);
}

void copy_sign(FunctionDecoder& d) {
  const Type type = d.modifiers.take_type();
  const FloatType f = float_type(d, type);
  d.expect_operands(3);
  const Operand a = d.source(d.operand(1), type), b = d.source(d.operand(2), type);
  const Operand to = d.destination(d.operand(0), type);
  Op& op = d.emit(&binary<CopySign>, Effect::arithmetic(), Settings{f, {}, {}});
  op.d = to;
  op.a = a;
  op.b = b;
}

}  // namespace wm::vgpu::isa
