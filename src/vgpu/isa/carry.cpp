// Arithmetic over several words: the carry of one instruction goes into the next. It is a bit a lane, kept in a row of
// predicates that every frame has.
#include "vgpu/isa/families.hpp"
#include "vgpu/isa/lanes.hpp"
#include "vgpu/isa/numeric/integer.hpp"

namespace wm::vgpu::isa {

using ptx::Type;

namespace {

struct Carry {
  bool in = false, out = false;
  bool high = false;  // madc.hi
};

template <class T>
Step add_row(Warp& warp, const Op& op, u32 active) {
  const auto& carry = op.as<Carry>();
  const auto *a = source_row<T>(warp, op.a), *b = source_row<T>(warp, op.b);
  auto* d = destination_row<T>(warp, op.d);
  const u32 in = carry.in ? warp.predicate({carry_predicate, 0}) : 0;
  u32 out = 0;
  for_each_lane(active, [&](u32 i) {
    const auto sum = numeric::Wide{a[i]} + b[i] + (in >> i & 1);
    out |= static_cast<u32>(sum >> (8 * sizeof(T)) & 1) << i;
    d[i] = static_cast<Word<T>>(sum);
  });
  if (carry.out) warp.set_predicate(carry_predicate, out, active);
  return Step::go;
}

// The chip adds the complement, so the carry of a subtraction is set where nothing was borrowed. Chains of subc cannot
// tell, but nvcc's 128-bit division reads that flag with addc.
template <class T>
Step subtract_row(Warp& warp, const Op& op, u32 active) {
  const auto& carry = op.as<Carry>();
  const auto *a = source_row<T>(warp, op.a), *b = source_row<T>(warp, op.b);
  auto* d = destination_row<T>(warp, op.d);
  const u32 in = carry.in ? warp.predicate({carry_predicate, 0}) : ~0u;
  u32 out = 0;
  for_each_lane(active, [&](u32 i) {
    const auto sum = numeric::Wide{a[i]} + static_cast<Word<T>>(~b[i]) + (in >> i & 1);
    out |= static_cast<u32>(sum >> (8 * sizeof(T)) & 1) << i;
    d[i] = static_cast<Word<T>>(sum);
  });
  if (carry.out) warp.set_predicate(carry_predicate, out, active);
  return Step::go;
}

template <class T>
Step multiply_add_row(Warp& warp, const Op& op, u32 active) {
  using Unsigned = std::make_unsigned_t<T>;
  const auto& carry = op.as<Carry>();
  const auto *a = source_row<T>(warp, op.a), *b = source_row<T>(warp, op.b), *c = source_row<T>(warp, op.c);
  auto* d = destination_row<T>(warp, op.d);
  const u32 in = carry.in ? warp.predicate({carry_predicate, 0}) : 0;
  u32 out = 0;
  for_each_lane(active, [&](u32 i) {
    const auto product =
        static_cast<numeric::Wide>(numeric::SignedWide{from_word<T>(a[i])} * numeric::SignedWide{from_word<T>(b[i])});
    const auto part = static_cast<Unsigned>(carry.high ? product >> (8 * sizeof(T)) : product);
    const auto sum = numeric::Wide{part} + c[i] + (in >> i & 1);
    out |= static_cast<u32>(sum >> (8 * sizeof(T)) & 1) << i;
    d[i] = static_cast<Word<T>>(sum);
  });
  if (carry.out) warp.set_predicate(carry_predicate, out, active);
  return Step::go;
}

template <class Make>
void emit_carry(FunctionDecoder& d, Carry carry, std::size_t sources, Make make) {
  const Type type = d.modifiers.take_type();
  const Handler handler = for_type<u32, i32, u64, i64>(d, type, make);
  d.expect_operands(1 + sources);
  Operand rows[3];
  for (std::size_t i = 0; i < sources; ++i) rows[i] = d.source(d.operand(1 + i), type);
  const Operand to = d.destination(d.operand(0), type);
  Op& op = d.emit(handler, Effect::arithmetic(), carry);
  op.d = to;
  op.a = rows[0];
  op.b = rows[1];
  op.c = rows[2];
}

// add.cc begins a chain, addc goes on with it.
Carry take_carry(FunctionDecoder& d) {
  Carry carry;
  carry.in = d.instruction().opcode.back() == 'c';
  carry.out = d.modifiers.take("cc");
  return carry;
}

}  // namespace

void add_with_carry(FunctionDecoder& d) {
  emit_carry(d, take_carry(d), 2, []<class T> { return Handler(&add_row<T>); });
}
void subtract_with_carry(FunctionDecoder& d) {
  emit_carry(d, take_carry(d), 2, []<class T> { return Handler(&subtract_row<T>); });
}
void multiply_add_with_carry(FunctionDecoder& d) {
  Carry carry = take_carry(d);
  const int part = d.modifiers.take_one_of({"lo", "hi"});
  if (part < 0) d.refuse("it needs .lo or .hi");
  carry.high = part == 1;
  emit_carry(d, carry, 3, []<class T> { return Handler(&multiply_add_row<T>); });
}

}  // namespace wm::vgpu::isa
