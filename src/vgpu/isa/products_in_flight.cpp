// Which accumulators may be in flight before each instruction: sets that grow along the ways through a function until
// nothing changes.
#include "vgpu/isa/products_in_flight.hpp"

#include <algorithm>
#include <cstdint>

namespace wm::vgpu::isa {

using ptx::Instruction;
using ptx::Operand;
using ptx::OperandKind;

namespace {

bool is_wgmma(const Instruction& in, std::string_view what) {
  return in.opcode == "wgmma" && !in.modifiers.empty() && in.modifiers.front() == what;
}

template <class Visit>
void for_each_register(const Operand& operand, const Visit& visit) {
  if (operand.kind == OperandKind::reg) visit(operand.index);
  for (const Operand& part : operand.parts) for_each_register(part, visit);
}

// Where control may be after an instruction.
template <class Visit>
void for_each_successor(const ptx::Function& function, std::uint32_t at, const Visit& visit) {
  const Instruction& in = function.instructions[at];
  const bool branches = in.opcode == "bra" || in.opcode == "brx";
  const bool ends = in.opcode == "ret" || in.opcode == "exit" || in.opcode == "trap";
  if ((in.guard >= 0 || !(branches || ends)) && at + 1 < function.instructions.size()) visit(at + 1);
  if (!branches) return;
  for (const Operand& operand : in.operands) {
    if (operand.kind == OperandKind::label) visit(operand.index);
    if (operand.kind == OperandKind::table)
      for (const std::uint32_t target : function.branch_tables[operand.index].targets) visit(target);
  }
}

}  // namespace

std::vector<bool> touches_product_in_flight(const ptx::Function& function) {
  constexpr std::uint32_t none = ~0u;
  const auto& code = function.instructions;
  std::vector<std::uint32_t> number(function.registers.size(), none);  // of accumulators
  std::uint32_t accumulators = 0;
  const auto multiplies = [](const Instruction& in) { return is_wgmma(in, "mma_async") && !in.operands.empty(); };
  for (const Instruction& in : code)
    if (multiplies(in))
      for_each_register(in.operands[0], [&](std::uint32_t reg) {
        if (number[reg] == none) number[reg] = accumulators++;
      });
  if (accumulators == 0) return {};

  using Set = std::vector<bool>;
  const auto after = [&](std::uint32_t at, Set flying) {
    if (is_wgmma(code[at], "wait_group")) flying.assign(accumulators, false);
    if (multiplies(code[at]))
      for_each_register(code[at].operands[0], [&](std::uint32_t reg) { flying[number[reg]] = true; });
    return flying;
  };
  // Sets are kept where ways meet or leave the line of instructions; in between they follow from the one before.
  std::vector<bool> entry(code.size());
  entry[0] = true;
  for (std::uint32_t at = 0; at < code.size(); ++at)
    for_each_successor(function, at, [&](std::uint32_t next) { entry[next] = entry[next] || next != at + 1; });
  std::vector<Set> before(code.size());
  std::vector<std::uint32_t> changed = {0};
  before[0].assign(accumulators, false);
  std::vector<bool> touches(code.size());
  while (!changed.empty()) {
    std::uint32_t at = changed.back();
    changed.pop_back();
    Set flying = before[at];
    for (bool on = true; on;) {
      const auto& operands = code[at].operands;  // a wgmma may add to what is in flight
      for (std::size_t i = is_wgmma(code[at], "mma_async") ? 1 : 0; i < operands.size(); ++i)
        for_each_register(operands[i], [&](std::uint32_t reg) {
          if (number[reg] != none && flying[number[reg]]) touches[at] = true;
        });
      flying = after(at, std::move(flying));
      const std::uint32_t here = at;
      on = false;
      for_each_successor(function, here, [&](std::uint32_t next) {
        if (!entry[next]) {
          at = next;
          on = true;
          return;
        }
        Set& known = before[next];
        if (known.empty()) {
          known = flying;
          changed.push_back(next);
          return;
        }
        bool grows = false;
        for (std::uint32_t i = 0; i < accumulators; ++i) grows |= flying[i] && !known[i];
        if (!grows) return;
        for (std::uint32_t i = 0; i < accumulators; ++i) known[i] = known[i] || flying[i];
        if (std::find(changed.begin(), changed.end(), next) == changed.end()) changed.push_back(next);
      });
    }
  }
  return touches;
}

}  // namespace wm::vgpu::isa
