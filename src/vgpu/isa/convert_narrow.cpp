// cvt of pairs of narrow numbers (e2m1, e2m3, e3m2) and of exponents (ue8m0): to them from f32, f16 or bf16, and back;
// and of pairs with a scale for each (.scaled::n2::ue8m0), which 8-bit floats and s2f6 have too.
#include "vgpu/isa/convert_narrow.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>

#include <fmt/format.h>

#include "vgpu/isa/lanes.hpp"
#include "vgpu/isa/numeric/halves.hpp"
#include "vgpu/isa/numeric/narrow.hpp"

namespace wm::vgpu::isa {

using numeric::Narrow;
using ptx::Type;

namespace {

// Of a pair: its name, where one number lies from the other, and what it stands for.
struct PairFormat {
  std::string_view name;
  u32 apart;  // bits
  float (*number)(u32 bits);
  std::optional<Narrow> narrow;
};
template <Narrow format>
float narrow_number(u32 bits) {
  return numeric::f32_from(numeric::f32_of_narrow(format, bits & ((1u << bits_of(format)) - 1)));
}
constexpr PairFormat formats[] = {
    {"e2m1x2", 4, &narrow_number<Narrow::e2m1>, Narrow::e2m1},
    {"e2m3x2", 8, &narrow_number<Narrow::e2m3>, Narrow::e2m3},
    {"e3m2x2", 8, &narrow_number<Narrow::e3m2>, Narrow::e3m2},
    {"e4m3x2", 8, [](u32 bits) { return numeric::f32_of_e4m3(bits & 0xff); }, std::nullopt},
    {"e5m2x2", 8, [](u32 bits) { return numeric::f32_of_e5m2(bits & 0xff); }, std::nullopt},
    {"s2f6x2", 8, [](u32 bits) { return static_cast<float>(static_cast<std::int8_t>(bits)) / 64; }, std::nullopt}};

// Two numbers become narrow ones, the first the upper one.
enum class Wide : u8 { f32, f16, bf16 };
struct Narrowing {
  const PairFormat* format = nullptr;
  Wide from = Wide::f32;  // two registers; else both lie in one
  bool relu = false;
};
Step narrow_op(Warp& warp, const Op& op, u32 active) {
  const auto& n = op.as<Narrowing>();
  const u32 *a = warp.source32(op.a), *b = warp.source32(op.b);
  u32* d = warp.row32(op.d);
  const auto one = [&](u32 bits) { return numeric::narrow_of_f32(*n.format->narrow, bits, n.relu); };
  const auto half = [&](u32 bits) {
    return n.from == Wide::bf16 ? bits << 16 : numeric::f32_bits(numeric::f32_of_f16(bits & 0xffff));
  };
  for_each_lane(active, [&](u32 i) {
    const u32 high = n.from == Wide::f32 ? a[i] : half(a[i] >> 16), low = n.from == Wide::f32 ? b[i] : half(a[i]);
    d[i] = one(high) << n.format->apart | one(low);
  });
  return Step::go;
}

struct Widening {
  const PairFormat* format = nullptr;
  bool to_bf16 = false, relu = false;
  bool scaled = false, satfinite = false;  // each number by a power of two of its own: the scale at the same place
};
Step widen_op(Warp& warp, const Op& op, u32 active) {
  const auto& w = op.as<Widening>();
  const u32 *a = warp.source32(op.a), *scales = warp.source32(op.b);
  u32* d = warp.row32(op.d);
  const auto one = [&](u32 bits, u32 scale) -> u32 {
    float number = w.format->number(bits);
    if (w.scaled) number *= numeric::scale_number(scale & 0xff, /*ue8m0=*/true);  // exact, but beyond the largest
    if (w.relu && std::signbit(number)) return 0;
    if (!w.to_bf16) return numeric::f16_of_f32(number);
    if (w.satfinite && std::isinf(number)) return std::signbit(number) ? 0xff7f : 0x7f7f;
    return numeric::bf16_of_f32(number);
  };
  for_each_lane(active,
                [&](u32 i) { d[i] = one(a[i] >> w.format->apart, scales[i] >> 8) << 16 | one(a[i], scales[i]); });
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

void decode_pair(FunctionDecoder& d, const PairFormat& format) {
  const bool relu = d.modifiers.take("relu"), satfinite = d.modifiers.take("satfinite");
  if (!d.modifiers.take("rn")) d.refuse("these formats are rounded by .rn");
  const bool scaled = d.modifiers.take("scaled::n2::ue8m0");
  // The type that stands first is the result's.
  const bool widens = d.modifiers.first() != format.name;
  d.modifiers.take(format.name);
  const int wide = d.modifiers.take_one_of({"f32", "f16x2", "bf16x2"});
  const Type packed = format.apart == 4 ? Type::b8 : Type::b16;
  if (widens) {
    if (wide < 1 || (scaled && wide != 2)) d.refuse("it is to .f16x2 or .bf16x2, with scales to .bf16x2");
    if (satfinite && !scaled) d.refuse("numbers that all fit need no .satfinite");
    d.expect_operands(scaled ? 3 : 2);
    const Operand row = d.destination(d.operand(0), 4), a = d.source(d.operand(1), packed);
    const Operand scales = scaled ? d.source(d.operand(2), Type::b16) : a;
    Op& op = d.emit(&widen_op, Effect::none(), Widening{&format, wide == 2, relu, scaled, satfinite});
    op.d = row;
    op.a = a;
    op.b = scales;
    return;
  }
  if (!format.narrow || scaled)
    d.refuse("how numbers become s2f6, or are scaled before they are rounded, is not confirmed");
  if (!satfinite) d.refuse("these formats have no infinity: it needs .satfinite");
  if (wide < 0) d.refuse("it is from .f32, .f16x2 or .bf16x2");
  d.expect_operands(wide == 0 ? 3 : 2);
  emit(d, &narrow_op, Narrowing{&format, static_cast<Wide>(wide), relu}, ptx::bytes_of(packed), Type::b32);
}

}  // namespace

bool convert_narrow(FunctionDecoder& d) {
  const bool exponents = d.modifiers.has("ue8m0x2"), scaled = d.modifiers.has("scaled::n2::ue8m0");
  const auto format = std::find_if(std::begin(formats), std::end(formats), [&](const PairFormat& f) {
    const bool eight_bit_float = f.name == "e4m3x2" || f.name == "e5m2x2";  // those without scales are elsewhere
    return d.modifiers.has(f.name) && (scaled || !eight_bit_float);
  });
  if (!exponents && format == std::end(formats)) return false;
  const Architecture& target = d.program().module().target;
  if (d.chip().arch.major < 10 || !(target.specific || target.family))
    d.refuse(fmt::format("`.{}` is of sm_100a, sm_120a and their families; this is code for {}",
                         exponents ? "ue8m0x2" : format->name, target.name()));
  if (exponents)
    decode_exponents(d, !d.modifiers.has("rn"));
  else
    decode_pair(d, *format);
  return true;
}

}  // namespace wm::vgpu::isa
