// f32x2: two f32 in a 64-bit register, added, multiplied or both at once.
#include "vgpu/isa/families.hpp"
#include "vgpu/isa/floating.hpp"
#include "vgpu/isa/lanes.hpp"
#include "vgpu/isa/numeric/arithmetic.hpp"

namespace wm::vgpu::isa {

using numeric::Format;
using ptx::Type;

namespace {

enum class Operation : u8 { add, subtract, multiply, fma };

template <Operation operation>
u64 one(const numeric::Mode& mode, u64 a, u64 b, u64 c) {
  switch (operation) {
    case Operation::add: return numeric::add(Format::f32, a, b, mode);
    case Operation::subtract: return numeric::subtract(Format::f32, a, b, mode);
    case Operation::multiply: return numeric::multiply(Format::f32, a, b, mode);
    case Operation::fma: return numeric::fma(Format::f32, a, b, c, mode);
  }
}

template <Operation operation>
Step pair_op(Warp& warp, const Op& op, u32 active) {
  const auto& mode = op.as<numeric::Mode>();
  const u64 *a = warp.source64(op.a), *b = warp.source64(op.b), *c = warp.source64(op.c);
  u64* d = warp.row64(op.d);
  for_each_lane(active, [&](u32 i) {
    const u64 low = one<operation>(mode, a[i] & 0xffffffff, b[i] & 0xffffffff, c[i] & 0xffffffff);
    const u64 high = one<operation>(mode, a[i] >> 32, b[i] >> 32, c[i] >> 32);
    d[i] = high << 32 | low;
  });
  return Step::go;
}

template <Operation operation>
void decode(FunctionDecoder& d) {
  if (d.chip().arch.major < 10) d.refuse("`.f32x2` is of sm_100 and later");
  const numeric::Mode mode = take_mode(d);
  d.modifiers.take("f32x2");
  if (mode.sat || mode.relu) d.refuse("`.f32x2` has neither .sat nor .relu");
  const std::size_t sources = operation == Operation::fma ? 3 : 2;
  d.expect_operands(1 + sources);
  Operand rows[3];
  for (std::size_t i = 0; i < sources; ++i) rows[i] = d.source(d.operand(1 + i), Type::b64);
  const Operand to = d.destination(d.operand(0), Type::b64);
  Op& op = d.emit(&pair_op<operation>, Effect::arithmetic(), mode);
  op.d = to;
  op.a = rows[0];
  op.b = rows[1];
  op.c = rows[2];
}

}  // namespace

void float_pair_add(FunctionDecoder& d) { decode<Operation::add>(d); }
void float_pair_subtract(FunctionDecoder& d) { decode<Operation::subtract>(d); }
void float_pair_multiply(FunctionDecoder& d) { decode<Operation::multiply>(d); }
void float_pair_fma(FunctionDecoder& d) { decode<Operation::fma>(d); }

}  // namespace wm::vgpu::isa
