// Reciprocals, roots and transcendental functions.
#include "vgpu/isa/numeric/approximate.hpp"

#include "vgpu/isa/families.hpp"
#include "vgpu/isa/floating.hpp"
#include "vgpu/isa/numeric/arithmetic.hpp"
#include "vgpu/isa/numeric/rows.hpp"

namespace wm::vgpu::isa {

using numeric::Format;
using ptx::Type;

namespace {

// f of one f32, with .ftz as the op's immediate.
template <u32 (*f)(u32, bool)>
Step approximate(Warp& warp, const Op& op, u32 active) {
  const u32* a = warp.source32(op.a);
  u32* d = warp.row32(op.d);
  const bool ftz = op.immediate & 1;
  for_each_lane(active, [&](u32 i) { d[i] = f(a[i], ftz); });
  return Step::go;
}
Step exponential_row(Warp& warp, const Op& op, u32 active) {
  numeric::rows::ex2_approx_f32(warp.row32(op.d), warp.source32(op.a), active, op.immediate & 1);
  return Step::go;
}
template <u64 (*f)(u64)>
Step approximate64(Warp& warp, const Op& op, u32 active) {
  const u64* a = warp.source64(op.a);
  u64* d = warp.row64(op.d);
  for_each_lane(active, [&](u32 i) { d[i] = f(a[i]); });
  return Step::go;
}
u32 tanh_f32(u32 a, bool) { return numeric::tanh_approx(a); }

template <bool full>
Step divide_row(Warp& warp, const Op& op, u32 active) {
  const u32 *a = warp.source32(op.a), *b = warp.source32(op.b);
  u32* d = warp.row32(op.d);
  const bool ftz = op.immediate & 1;
  for_each_lane(
      active, [&](u32 i) { d[i] = full ? numeric::div_full(a[i], b[i], ftz) : numeric::div_approx(a[i], b[i], ftz); });
  return Step::go;
}

struct HalfFunction {
  FloatType type;
  u16 (*apply)(Format, u16, bool);
  bool ftz;
};
u16 tanh_half(Format format, u16 a, bool) { return numeric::tanh_approx_half(format, a); }
Step half_row(Warp& warp, const Op& op, u32 active) {
  const auto& f = op.as<HalfFunction>();
  const u32* a = warp.source32(op.a);
  u32* d = warp.row32(op.d);
  const auto one = [&](u64 value) -> u64 { return f.apply(f.type.format, static_cast<u16>(value), f.ftz); };
  for_each_lane(
      active, [&](u32 i) { d[i] = f.type.pair ? numeric::pairwise(one, a[i]) : static_cast<u32>(one(a[i] & 0xffff)); });
  return Step::go;
}

struct Rounded {
  Format format;
  numeric::Mode mode;
  u64 (*apply)(Format, u64, const numeric::Mode&);
};
Step rounded_row(Warp& warp, const Op& op, u32 active) {
  const auto& r = op.as<Rounded>();
  if (r.format == Format::f64) {
    const u64* a = warp.source64(op.a);
    u64* d = warp.row64(op.d);
    for_each_lane(active, [&](u32 i) { d[i] = r.apply(r.format, a[i], r.mode); });
  } else {
    const u32* a = warp.source32(op.a);
    u32* d = warp.row32(op.d);
    for_each_lane(active, [&](u32 i) { d[i] = static_cast<u32>(r.apply(r.format, a[i], r.mode)); });
  }
  return Step::go;
}

void emit_unary(FunctionDecoder& d, Handler handler, Type type, bool ftz) {
  emit_arithmetic(d, handler, type, {type}).immediate = ftz;
}

// .approx.f32 alone: sin, cos, lg2.
void only_f32(FunctionDecoder& d, Handler handler) {
  if (!d.modifiers.take("approx")) d.refuse("it needs .approx");
  const bool ftz = d.modifiers.take("ftz");
  if (d.modifiers.take_type() != Type::f32) d.refuse("its type is .f32");
  emit_unary(d, handler, Type::f32, ftz);
}

// rcp and sqrt: .approx, or rounded.
void approximate_or_rounded(FunctionDecoder& d, Handler approx32, Handler approx64,
                            u64 (*rounded)(Format, u64, const numeric::Mode&)) {
  const bool approx = d.modifiers.take("approx");
  const bool named = d.modifiers.has("rn") || d.modifiers.has("rz") || d.modifiers.has("rm") || d.modifiers.has("rp");
  if (approx == named) d.refuse("it needs .approx or a rounding mode");
  const numeric::Mode mode = take_mode(d);
  const Type type = d.modifiers.take_type();
  if (type != Type::f32 && type != Type::f64) d.refuse("its types are .f32 and .f64");
  if (!approx) {
    d.expect_operands(2);
    const Operand a = d.source(d.operand(1), type);
    const Operand to = d.destination(d.operand(0), type);
    Op& op = d.emit(&rounded_row, Effect::arithmetic(), Rounded{float_type(d, type).format, mode, rounded});
    op.d = to;
    op.a = a;
    return;
  }
  if (type == Type::f64 && (approx64 == nullptr || !mode.ftz)) d.refuse("there is no such form of .f64");
  emit_unary(d, type == Type::f64 ? approx64 : approx32, type, mode.ftz);
}

bool half_function(FunctionDecoder& d, Type type, u16 (*apply)(Format, u16, bool), bool ftz) {
  const FloatType f = float_type(d, type);
  if (f.format != Format::f16 && f.format != Format::bf16) return false;
  d.expect_operands(2);
  const Operand a = d.source(d.operand(1), type);
  const Operand to = d.destination(d.operand(0), type);
  Op& op = d.emit(&half_row, Effect::arithmetic(), HalfFunction{f, apply, ftz});
  op.d = to;
  op.a = a;
  return true;
}

}  // namespace

void reciprocal(FunctionDecoder& d) {
  approximate_or_rounded(d, &approximate<&numeric::rcp_approx>, &approximate64<&numeric::rcp_approx_f64>,
                         [](Format f, u64 a, const numeric::Mode& m) { return numeric::reciprocal(f, a, m); });
}
void square_root(FunctionDecoder& d) {
  approximate_or_rounded(d, &approximate<&numeric::sqrt_approx>, nullptr,
                         [](Format f, u64 a, const numeric::Mode& m) { return numeric::square_root(f, a, m); });
}

void reciprocal_square_root(FunctionDecoder& d) {
  if (!d.modifiers.take("approx")) d.refuse("it needs .approx");
  const bool ftz = d.modifiers.take("ftz");
  const Type type = d.modifiers.take_type();
  if (type == Type::f64)
    return emit_unary(d, ftz ? &approximate64<&numeric::rsqrt_approx_f64> : &approximate64<&numeric::rsqrt_f64>, type,
                      ftz);
  if (type != Type::f32) d.refuse("its types are .f32 and .f64");
  emit_unary(d, &approximate<&numeric::rsqrt_approx>, type, ftz);
}

void sine(FunctionDecoder& d) { only_f32(d, &approximate<&numeric::sin_approx>); }
void cosine(FunctionDecoder& d) { only_f32(d, &approximate<&numeric::cos_approx>); }
void logarithm2(FunctionDecoder& d) { only_f32(d, &approximate<&numeric::lg2_approx>); }

void exponential2(FunctionDecoder& d) {
  if (!d.modifiers.take("approx")) d.refuse("it needs .approx");
  const bool ftz = d.modifiers.take("ftz");
  const Type type = d.modifiers.take_type();
  if (type == Type::f32) return emit_unary(d, &exponential_row, type, ftz);
  if (!half_function(d, type, &numeric::ex2_approx_half, ftz)) d.refuse("it has no form for .f64");
}

void hyperbolic_tangent(FunctionDecoder& d) {
  if (!d.modifiers.take("approx")) d.refuse("it needs .approx");
  const Type type = d.modifiers.take_type();
  if (type == Type::f32) return emit_unary(d, &approximate<&tanh_f32>, type, false);
  if (!half_function(d, type, &tanh_half, false)) d.refuse("it has no form for .f64");
}

void divide_approximately(FunctionDecoder& d) {
  const bool full = d.modifiers.take("full");
  if (!full && !d.modifiers.take("approx")) d.refuse("it needs .approx or .full");
  const bool ftz = d.modifiers.take("ftz");
  if (d.modifiers.take_type() != Type::f32) d.refuse("its type is .f32");
  emit_arithmetic(d, full ? &divide_row<true> : &divide_row<false>, Type::f32, {Type::f32, Type::f32}).immediate = ftz;
}

}  // namespace wm::vgpu::isa
