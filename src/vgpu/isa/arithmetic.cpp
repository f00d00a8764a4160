// Opcodes that integers and floats share: the type decides the family.
#include <algorithm>

#include "vgpu/isa/families.hpp"
#include "vgpu/isa/floating.hpp"

namespace wm::vgpu::isa {

namespace {
ptx::Type type_in(const FunctionDecoder& d) {
  for (const std::string& m : d.instruction().modifiers)
    if (const ptx::Type type = ptx::type_named(m); type != ptx::Type::none) return type;
  return ptx::Type::none;
}
void choose(FunctionDecoder& d, void (*integer)(FunctionDecoder&), void (*floating)(FunctionDecoder&)) {
  (is_float(type_in(d)) ? floating : integer)(d);
}
}  // namespace

void add(FunctionDecoder& d) {
  if (d.modifiers.has("cc")) return add_with_carry(d);
  if (d.modifiers.has("f32x2")) return float_pair_add(d);
  choose(d, &integer_add, &float_add);
}
void subtract(FunctionDecoder& d) {
  if (d.modifiers.has("cc")) return subtract_with_carry(d);
  if (d.modifiers.has("f32x2")) return float_pair_subtract(d);
  choose(d, &integer_subtract, &float_subtract);
}
void multiply(FunctionDecoder& d) {
  if (d.modifiers.has("f32x2")) return float_pair_multiply(d);
  choose(d, &integer_multiply, &float_multiply);
}
void multiply_add(FunctionDecoder& d) {
  if (d.modifiers.has("cc")) return multiply_add_with_carry(d);
  choose(d, &integer_multiply_add, &fused_multiply_add);
}
void divide(FunctionDecoder& d) {
  if (d.modifiers.has("approx") || d.modifiers.has("full")) return divide_approximately(d);
  choose(d, &integer_divide, &float_divide);
}
void absolute(FunctionDecoder& d) { choose(d, &integer_absolute, &float_absolute); }
void negate(FunctionDecoder& d) { choose(d, &integer_negate, &float_negate); }
void minimum(FunctionDecoder& d) { choose(d, &integer_minimum, &float_minimum); }
void maximum(FunctionDecoder& d) { choose(d, &integer_maximum, &float_maximum); }

}  // namespace wm::vgpu::isa
