// The table of instructions that are not exact.
#include "vgpu/isa/fidelity.hpp"

#include <algorithm>
#include <string_view>

#include "vgpu/ptx/module.hpp"

namespace wm::vgpu {

namespace {

struct Approximation {
  std::string_view opcode, type, bound;
};
constexpr Approximation approximations[] = {
    {"ex2", "f32", "2 ulp"},           {"lg2", "f32", "absolute 2^-22 + relative 2^-23"},
    {"rcp", "f32", "1 ulp"},           {"rcp", "f64", "relative 2^-20"},
    {"rsqrt", "f32", "1 ulp"},         {"rsqrt", "f64", "relative 2^-20"},
    {"sqrt", "f32", "1 ulp"},          {"div", "f32", "1 ulp"},
    {"sin", "f32", "absolute 2^-21"},  {"cos", "f32", "absolute 2^-21"},
    {"tanh", "f32", "relative 2^-16"},
};

bool has(const ptx::Instruction& instruction, std::string_view modifier) {
  return std::ranges::find(instruction.modifiers, modifier) != instruction.modifiers.end();
}

bool has_bytes(const ptx::Instruction& instruction) { return has(instruction, "e4m3") || has(instruction, "e5m2"); }

std::string bound_of_approximation(const ptx::Instruction& instruction) {
  for (const Approximation& one : approximations)
    if (instruction.opcode == one.opcode && has(instruction, one.type)) return std::string(one.bound);
  return "1 ulp";  // f16, bf16 and their pairs
}

// Sums of a tensor core: as a part of the sum of the magnitudes of c and the products. The chip cuts each term 25 bits
// below the largest of a step (13 in wgmma of 8-bit floats) and the sum to the mantissa of the result.
std::string bound_of_sum(const ptx::Instruction& instruction, bool chip_sums) {
  const bool f16 = has(instruction, "f16") && !has(instruction, "f32"), bytes = has_bytes(instruction);
  if (has(instruction, "f64")) return "2^-50 of the sum of magnitudes";
  if (!f16 && !has(instruction, "f32")) return {};  // integers
  const bool warpgroup = instruction.opcode == "wgmma";
  const bool modelled = warpgroup || !f16 || !bytes;
  if (chip_sums && modelled) return {};
  if (warpgroup && bytes) return "2^-7 of the sum of magnitudes";
  return f16 ? "2^-9 of the sum of magnitudes" : "2^-19 of the sum of magnitudes";
}

}  // namespace

std::string bound_of(const ptx::Instruction& instruction, bool chip_sums) {
  if (has(instruction, "approx") || (instruction.opcode == "div" && has(instruction, "full")))
    return bound_of_approximation(instruction);
  if (instruction.opcode == "mma" || instruction.opcode == "wmma" ||
      (instruction.opcode == "wgmma" && has(instruction, "mma_async")))
    return bound_of_sum(instruction, chip_sums);
  if (instruction.opcode == "tcgen05" && has(instruction, "mma") && !has(instruction, "kind::i8"))
    return "not known: nobody specifies how the chip adds";
  return {};
}

}  // namespace wm::vgpu
