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

std::string bound_of_approximation(const ptx::Instruction& instruction) {
  for (const Approximation& one : approximations)
    if (instruction.opcode == one.opcode && has(instruction, one.type)) return std::string(one.bound);
  return "1 ulp";  // f16, bf16 and their pairs
}

// Sums of a tensor core: wgmma and mma name the type of d first among the types.
std::string bound_of_sum(const ptx::Instruction& instruction, bool chip_sums) {
  if (has(instruction, "f64")) return "2^-50 of the sum of magnitudes";
  const bool f16 = has(instruction, "f16") && !has(instruction, "f32"), f32 = has(instruction, "f32");
  if (chip_sums || !(f16 || f32)) return {};
  const bool bytes = has(instruction, "e4m3") || has(instruction, "e5m2");
  return f16     ? "2^-9 of the sum of magnitudes"
         : bytes ? "2^-11 of the sum of magnitudes"
                 : "2^-19 of the sum of magnitudes";
}

}  // namespace

std::string bound_of(const ptx::Instruction& instruction, bool chip_sums) {
  if (has(instruction, "approx") || (instruction.opcode == "div" && has(instruction, "full")))
    return bound_of_approximation(instruction);
  if (instruction.opcode == "mma" || instruction.opcode == "wmma" ||
      (instruction.opcode == "wgmma" && has(instruction, "mma_async")))
    return bound_of_sum(instruction, chip_sums);
  return {};
}

}  // namespace wm::vgpu
