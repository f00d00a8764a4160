// cvt of pairs of narrow numbers (e2m1, e2m3, e3m2) and of exponents (ue8m0): to them from f32, and back to f16 or
// bf16.
#include "vgpu/isa/convert_narrow.hpp"

#include <fmt/format.h>

#include "vgpu/isa/lanes.hpp"
#include "vgpu/isa/numeric/halves.hpp"
#include "vgpu/isa/numeric/narrow.hpp"

namespace wm::vgpu::isa {

using numeric::Narrow;
using ptx::Type;

namespace {

struct NarrowPair {
  Narrow format = Narrow::e2m1;
  bool relu = false;
  u32 apart() const { return format == Narrow::e2m1 ? 4 : 8; }  // bits from one to the other
};

// The first source becomes the upper one.
Step narrow_op(Warp& warp, const Op& op, u32 active) {
  const auto& n = op.as<NarrowPair>();
  const u32 *a = warp.source32(op.a), *b = warp.source32(op.b);
  u32* d = warp.row32(op.d);
  for_each_lane(active, [&](u32 i) {
    d[i] = narrow_of_f32(n.format, a[i], n.relu) << n.apart() | narrow_of_f32(n.format, b[i], n.relu);
  });
  return Step::go;
}

Step widen_op(Warp& warp, const Op& op, u32 active) {
  const auto& n = op.as<NarrowPair>();
  const u32* a = warp.source32(op.a);
  u32* d = warp.row32(op.d);
  const u32 mask = (1u << bits_of(n.format)) - 1;
  const auto half = [&](u32 bits) {
    const u32 wide = numeric::f32_of_narrow(n.format, bits & mask);
    return n.relu && wide >> 31 ? 0 : u32{numeric::f16_of_f32(numeric::f32_from(wide))};
  };
  for_each_lane(active, [&](u32 i) { d[i] = half(a[i] >> n.apart()) << 16 | half(a[i]); });
  return Step::go;
}

struct Exponents {
  bool up = false, satfinite = false;
  bool of_bf16 = false;  // a pair in one register; else two of f32
};

Step exponents_op(Warp& warp, const Op& op, u32 active) {
  const auto& e = op.as<Exponents>();
  const u32 *a = warp.source32(op.a), *b = warp.source32(op.b);
  u32* d = warp.row32(op.d);
  const auto one = [&](u32 bits) { return numeric::ue8m0_of_f32(bits, e.up, e.satfinite); };
  for_each_lane(active, [&](u32 i) {
    const u32 high = e.of_bf16 ? a[i] & 0xffff0000 : a[i], low = e.of_bf16 ? a[i] << 16 : b[i];
    d[i] = one(high) << 8 | one(low);
  });
  return Step::go;
}

Step powers_op(Warp& warp, const Op& op, u32 active) {
  const u32* a = warp.source32(op.a);
  u32* d = warp.row32(op.d);
  for_each_lane(active, [&](u32 i) {
    d[i] = numeric::bf16_of_ue8m0(a[i] >> 8 & 0xff) << 16 | numeric::bf16_of_ue8m0(a[i] & 0xff);
  });
  return Step::go;
}

template <class Detail>
void emit(FunctionDecoder& d, Handler handler, const Detail& detail, u32 to_bytes, Type from) {
  const Operand row = d.destination(d.operand(0), to_bytes), a = d.source(d.operand(1), from);
  const Operand b = d.operands() > 2 ? d.source(d.operand(2), from) : a;
  Op& op = d.emit(handler, Effect::none(), detail);
  op.d = row;
  op.a = a;
  op.b = b;
}

void decode_exponents(FunctionDecoder& d, bool to) {
  if (!to) {
    if (!d.modifiers.take("rn") || !d.modifiers.take("bf16x2")) d.refuse("it is cvt.rn.bf16x2.ue8m0x2");
    d.modifiers.take("ue8m0x2");
    d.expect_operands(2);
    return emit(d, &powers_op, Exponents{}, 4, Type::b16);
  }
  Exponents e;
  const int rounding = d.modifiers.take_one_of({"rz", "rp"});
  if (rounding < 0) d.refuse("to .ue8m0x2 it is rounded by .rz or .rp");
  e.up = rounding == 1;
  e.satfinite = d.modifiers.take("satfinite");
  d.modifiers.take("ue8m0x2");
  e.of_bf16 = d.modifiers.take("bf16x2");
  if (!e.of_bf16 && !d.modifiers.take("f32")) d.refuse("to .ue8m0x2 it is from .f32 or .bf16x2");
  d.expect_operands(e.of_bf16 ? 2 : 3);
  emit(d, &exponents_op, e, 2, Type::b32);
}

void decode_narrow(FunctionDecoder& d, Narrow format, std::string_view name, bool to) {
  NarrowPair n{format, d.modifiers.take("relu")};
  if (!d.modifiers.take("rn")) d.refuse("these formats are rounded by .rn");
  if (to && !d.modifiers.take("satfinite")) d.refuse("these formats have no infinity: it needs .satfinite");
  d.modifiers.take(name);
  if (!d.modifiers.take(to ? "f32" : "f16x2")) d.refuse("it is from .f32, or to .f16x2");
  d.expect_operands(to ? 3 : 2);
  const bool byte = n.apart() == 4;
  if (to)
    emit(d, &narrow_op, n, byte ? 1 : 2, Type::f32);
  else
    emit(d, &widen_op, n, 4, byte ? Type::b8 : Type::b16);
}

}  // namespace

bool convert_narrow(FunctionDecoder& d) {
  constexpr std::string_view names[] = {"e2m1x2", "e2m3x2", "e3m2x2", "ue8m0x2"};
  for (std::size_t i = 0; i < std::size(names); ++i) {
    if (!d.modifiers.has(names[i])) continue;
    const Architecture& target = d.program().module().target;
    if (d.chip().arch.major < 10 || !(target.specific || target.family))
      d.refuse(
          fmt::format("`.{}` is of sm_100a, sm_120a and their families; this is code for {}", names[i], target.name()));
    const bool to = !d.modifiers.has("f16x2") && !(i == 3 && d.modifiers.has("rn"));
    if (i == 3)
      decode_exponents(d, to);
    else
      decode_narrow(d, static_cast<Narrow>(i), names[i], to);
    return true;
  }
  return false;
}

}  // namespace wm::vgpu::isa
