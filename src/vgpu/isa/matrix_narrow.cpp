// mma.sync of sm_120a: 8-, 6- and 4-bit floats, and their block scales.
#include <array>

#include <fmt/format.h>

#include "vgpu/isa/gather.hpp"
#include "vgpu/isa/matrix_types.hpp"
#include "vgpu/isa/numeric/narrow_mma.hpp"
#include "vgpu/isa/numeric/tensor_descriptor.hpp"

namespace wm::vgpu::isa {

using numeric::Element;
using numeric::NarrowMmaScales;
using numeric::Sum;
using numeric::TensorKind;
using ptx::OperandKind;
using ptx::Type;

namespace {

struct Scales {
  Operand data, byte, thread;
};

struct NarrowProduct {
  numeric::NarrowMmaShape shape;
  std::vector<Operand> d, a, b, c;
  std::array<Scales, 2> scales;  // of A and of B
};

// Bytes and threads are numbers that all lanes agree on.
NarrowMmaScales scales_of(const Warp& warp, const NarrowProduct& p, char operand) {
  const Scales& s = p.scales[operand == 'A' ? 0 : 1];
  NarrowMmaScales scales{warp.source32(s.data), 0, 0};
  const auto number = [&](Operand from, const char* what) {
    const u32* lanes = warp.source32(from);
    for (u32 lane = 1; lane < lanes_per_warp; ++lane)
      if ((lanes[lane] & 0xffff) != (lanes[0] & 0xffff))
        warp.fault(fmt::format("the lanes give different {} of {}'s scales", what, operand), lane);
    return lanes[0] & 0xffff;
  };
  scales.byte = number(s.byte, "bytes");
  scales.thread = number(s.thread, "threads");
  const u32 count = static_cast<u32>(p.shape.scales), threads = operand == 'A' ? 2 : 4;
  if (scales.byte % count != 0 || scales.byte > 4 - count)
    warp.fault(fmt::format("{}'s scales begin at byte {} of their register; {} for a row begin at {}", operand,
                           scales.byte, count,
                           count == 1   ? "0 to 3"
                           : count == 2 ? "0 or 2"
                                        : "0"),
               0);
  if (scales.thread >= threads)
    warp.fault(fmt::format("{}'s scales come from thread {}; there are 0 to {}", operand, scales.thread, threads - 1),
               0);
  if (!p.shape.ue8m0)
    for (u32 lane = 0; lane < lanes_per_warp; ++lane)
      if (const bool used = (operand == 'A' ? lane % 4 / 2 : lane % 4) == scales.thread;
          used && (scales.lanes[lane] & 0x80808080) != 0)
        warp.fault(fmt::format("{}'s scales are {:#010x}: ue4m3 has no sign, and bit 7 of each byte is zero", operand,
                               scales.lanes[lane]),
                   lane);
  return scales;
}

Step narrow_op(Warp& warp, const Op& op, u32 active) {
  if (const auto step = gather_warp(warp, active)) return *step;
  const auto& p = op.as<NarrowProduct>();
  const auto sources = [&](const std::vector<Operand>& operands) {
    std::vector<const u32*> rows;
    for (Operand o : operands) rows.push_back(warp.source32(o));
    return rows;
  };
  std::vector<u32*> d;
  for (Operand o : p.d) d.push_back(warp.row32(o));
  NarrowMmaScales a_scales, b_scales;
  if (p.shape.scales != 0) {
    a_scales = scales_of(warp, p, 'A');
    b_scales = scales_of(warp, p, 'B');
  }
  numeric::mma_narrow(p.shape, d, sources(p.a), sources(p.b), sources(p.c), a_scales, b_scales);
  return Step::go;
}

// e2m1, e2m3 and e3m2 are no types elsewhere.
Element take_element(FunctionDecoder& d, TensorKind kind) {
  constexpr std::array elements = {Element::e4m3, Element::e5m2, Element::e2m3, Element::e3m2, Element::e2m1};
  constexpr std::array<const char*, 5> names = {"e4m3", "e5m2", "e2m3", "e3m2", "e2m1"};
  const std::string first(d.modifiers.first());
  for (std::size_t i = 0; i < names.size(); ++i)
    if (first == names[i] && d.modifiers.take(first)) {
      if (!numeric::is_packed(kind)) return elements[i];
      if (elements[i] == Element::e2m1) return Element::e2m1_pairs;
    }
  d.refuse(numeric::is_packed(kind) ? "A and B are .e2m1" : "A and B are .e4m3, .e5m2, .e2m3, .e3m2 or .e2m1");
}

// Scales of a row.
int take_scales(FunctionDecoder& d, TensorKind kind) {
  if (d.modifiers.take("block_scale") != numeric::has_scales(kind))
    d.refuse("the kinds mxf8f6f4, mxf4 and mxf4nvf4 have .block_scale, and no others");
  if (!numeric::has_scales(kind)) return 0;
  const int said = d.modifiers.take_one_of({"scale_vec::1X", "scale_vec::2X", "scale_vec::4X"});
  if (kind == TensorKind::mxf8f6f4 && said <= 0) return 1;
  if (kind == TensorKind::mxf4 && (said < 0 || said == 1)) return 2;
  if (kind == TensorKind::mxf4nvf4 && said >= 1) return 2 * said;
  d.refuse(
      "`.kind::mxf8f6f4` has .scale_vec::1X, `.kind::mxf4` .scale_vec::2X, and `.kind::mxf4nvf4` has to say "
      ".scale_vec::2X or .scale_vec::4X");
}

Scales take_operand(FunctionDecoder& d, std::size_t at) {
  const auto data = d.operand(at).kind == OperandKind::vector ? d.sources(d.operand(at), Type::b32)
                                                              : std::vector{d.source(d.operand(at), Type::b32)};
  const auto ids = d.sources(d.operand(at + 1), Type::u16);
  if (data.size() != 1 || ids.size() != 2) d.refuse("scales are a register, and the numbers of a byte and of a thread");
  return {data[0], ids[0], ids[1]};
}

}  // namespace

void narrow_matrix_multiply(FunctionDecoder& d) {
  const Architecture& target = d.program().module().target;
  if (d.chip().arch.major != 12 || !(target.specific || target.family))
    d.refuse(fmt::format("`.kind` of mma.sync is of sm_120a and its family; this is code for {} on {}", target.name(),
                         d.chip().arch.name()));
  constexpr std::array kinds = {TensorKind::f8f6f4, TensorKind::mxf8f6f4, TensorKind::mxf4, TensorKind::mxf4nvf4};
  const int said = d.modifiers.take_one_of({"kind::f8f6f4", "kind::mxf8f6f4", "kind::mxf4", "kind::mxf4nvf4"});
  const TensorKind kind = kinds[static_cast<std::size_t>(said)];
  NarrowProduct p;
  p.shape.scales = take_scales(d, kind);
  const char* const shape = numeric::is_packed(kind) ? "m16n8k64" : "m16n8k32";
  if (!d.modifiers.take(shape)) d.refuse(fmt::format("its shape is .{}", shape));
  if (!d.modifiers.take("row") || !d.modifiers.take("col")) d.refuse("its order is .row.col");
  const Type sum = d.modifiers.take_type();
  p.shape.a = take_element(d, kind);
  p.shape.b = take_element(d, kind);
  if (d.modifiers.take_type() != sum) d.refuse("C and D have the same type");
  if (sum != Type::f32 && !(sum == Type::f16 && kind == TensorKind::f8f6f4))
    d.refuse(kind == TensorKind::f8f6f4 ? "sums are .f32 or .f16" : "with scales sums are .f32");
  p.shape.sum = sum == Type::f16 ? Sum::f16 : Sum::f32;
  if (p.shape.scales != 0) {
    const int type = d.modifiers.take_one_of({"ue8m0", "ue4m3"});
    if (type < 0 || (type == 1 && p.shape.scales != 4)) d.refuse("scales are .ue8m0, or .ue4m3 of .scale_vec::4X");
    if (type == 0 && p.shape.scales == 4) d.refuse(".scale_vec::4X of .ue8m0 is newer than PTX 9.0");
    p.shape.ue8m0 = type == 0;
  }
  d.expect_operands(p.shape.scales == 0 ? 4 : 8);
  p.d = d.destinations(d.operand(0), Type::b32);
  p.a = d.sources(d.operand(1), Type::b32);
  p.b = d.sources(d.operand(2), Type::b32);
  p.c = d.sources(d.operand(3), Type::b32);
  const std::size_t sums = p.shape.sum == Sum::f16 ? 2 : 4;
  if (p.a.size() != 4 || p.b.size() != 2 || p.c.size() != sums || p.d.size() != sums)
    d.refuse(fmt::format("A has 4 registers, B 2, C and D {}", sums));
  if (p.shape.scales != 0) p.scales = {take_operand(d, 4), take_operand(d, 6)};
  d.emit(&narrow_op, Effect::none().by_whole_warp(), std::move(p));
}

}  // namespace wm::vgpu::isa
