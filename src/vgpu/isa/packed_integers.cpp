// vadd2, vabsdiff4 and their kin: two or four integers in a register each, as the toolkit's __vabsdiffu4 and others
// write them.
#include <algorithm>

#include <fmt/format.h>

#include "vgpu/isa/families.hpp"
#include "vgpu/isa/lanes.hpp"

namespace wm::vgpu::isa {

using ptx::Type;

namespace {

enum class PackedOperation : u8 { add, subtract, average, absolute_difference, minimum, maximum, compare };

struct Packed {
  PackedOperation operation = PackedOperation::add;
  u32 count = 2;  // of integers in a register
  bool a_signed = false, b_signed = false, d_signed = false;
  bool saturate = false;
  bool accumulate = false;  // D is one number: C and all results
  int comparison = 0;       // eq, ne, lt, le, gt, ge
  u32 bits() const { return 32 / count; }
  i32 element(u32 word, u32 index, bool is_signed) const {
    const u32 shifted = word << (32 - bits() * (index + 1));
    return is_signed ? static_cast<i32>(shifted) >> (32 - bits()) : static_cast<i32>(shifted >> (32 - bits()));
  }
  bool holds(i32 a, i32 b) const {
    const bool answers[] = {a == b, a != b, a<b, a <= b, a> b, a >= b};
    return answers[comparison];
  }
  i32 result(i32 a, i32 b) const {
    switch (operation) {
      case PackedOperation::add: return a + b;
      case PackedOperation::subtract: return a - b;
      case PackedOperation::average: return (a + b + (a + b >= 0)) >> 1;
      case PackedOperation::absolute_difference: return a > b ? a - b : b - a;
      case PackedOperation::minimum: return std::min(a, b);
      case PackedOperation::maximum: return std::max(a, b);
      case PackedOperation::compare: return holds(a, b);
    }
    return 0;
  }
  i32 clamped(i32 value) const {
    const i32 least = d_signed ? -(1 << (bits() - 1)) : 0;
    return std::clamp(value, least, least + (1 << bits()) - 1);
  }
};

Step packed_op(Warp& warp, const Op& op, u32 active) {
  const auto& p = op.as<Packed>();
  const u32 *a = warp.source32(op.a), *b = warp.source32(op.b), *c = warp.source32(op.c);
  u32* d = warp.row32(op.d);
  for_each_lane(active, [&](u32 i) {
    u32 word = 0, sum = c[i];
    for (u32 e = 0; e < p.count; ++e) {
      i32 value = p.result(p.element(a[i], e, p.a_signed), p.element(b[i], e, p.b_signed));
      if (p.saturate) value = p.clamped(value);
      sum += static_cast<u32>(value);
      word |= (static_cast<u32>(value) & ((1u << p.bits()) - 1)) << p.bits() * e;
    }
    d[i] = p.accumulate ? sum : word;
  });
  return Step::go;
}

void decode(FunctionDecoder& d, PackedOperation operation, u32 count) {
  Packed p{operation, count};
  const auto take_sign = [&] {
    const Type type = d.modifiers.take_type();
    if (type != Type::s32 && type != Type::u32) d.refuse("its types are .s32 and .u32");
    return type == Type::s32;
  };
  const bool compares = operation == PackedOperation::compare;
  if (!compares) p.d_signed = take_sign();
  p.a_signed = take_sign();
  p.b_signed = take_sign();
  if (compares) {
    p.comparison = d.modifiers.take_one_of({"eq", "ne", "lt", "le", "gt", "ge"});
    if (p.comparison < 0) d.refuse("it needs a comparison");
  } else {
    p.saturate = d.modifiers.take("sat");
  }
  p.accumulate = d.modifiers.take("add");
  const auto kept = std::make_shared<Packed>(p);
  d.function().details.push_back(kept);
  // Without masks the third source counts in sums alone.
  emit_lanewise(d, Effect::none(), &packed_op, Type::b32, {Type::b32, Type::b32, Type::b32}).detail = kept.get();
}

}  // namespace

void packed_integers(FunctionDecoder& d) {
  constexpr std::string_view names[] = {"vadd", "vsub", "vavrg", "vabsdiff", "vmin", "vmax", "vset"};
  const std::string_view opcode = d.instruction().opcode;
  const u32 count = opcode.back() == '4' ? 4 : 2;
  const auto found = std::find(std::begin(names), std::end(names), opcode.substr(0, opcode.size() - 1));
  decode(d, static_cast<PackedOperation>(found - std::begin(names)), count);
}

}  // namespace wm::vgpu::isa
