// The PTX reader on any text: it refuses in words or gives a module whose every index is valid.
#include <bit>
#include <string_view>

#include "mutate.hpp"
#include "promise.hpp"
#include "runtime/ptx_summary.hpp"
#include "vgpu/ptx/module.hpp"
#include "warpmill/error.hpp"

namespace {

using namespace wm::vgpu::ptx;
using wm::fuzz::promise;

void check(const Operand& operand, const Function& function) {
  switch (operand.kind) {
    case OperandKind::reg: promise(operand.index < function.registers.size(), "a register exists"); break;
    case OperandKind::label: promise(operand.index < function.instructions.size(), "a label marks something"); break;
    case OperandKind::table: promise(operand.index < function.branch_tables.size(), "a table exists"); break;
    case OperandKind::symbol:
    case OperandKind::special: promise(!operand.name.empty(), "a symbol has a name"); break;
    case OperandKind::memory: promise(operand.parts.size() == 1, "an address has one base"); break;
    case OperandKind::pair: promise(operand.parts.size() == 2, "a pair has two parts"); break;
    case OperandKind::tensor: promise(operand.parts.size() >= 2, "a tensor operand has coordinates"); break;
    default: break;
  }
  for (const Operand& part : operand.parts) check(part, function);
}

void check(const Place& place, const Module& module) {
  promise(place.file < module.files.size(), "a place names a known file");
  promise(place.inlined_at < std::int32_t(module.inline_sites.size()), "a place names a known inline site");
}

void check(const Variable& variable, const Module& module) {
  promise(std::has_single_bit(variable.alignment), "an alignment is a power of two");
  promise(variable.initial.size() <= variable.bytes, "initial values fit their variable", variable.name);
  for (const Relocation& relocation : variable.relocations)
    promise(relocation.offset + relocation.bytes <= variable.initial.size(), "an address fits its variable");
  check(variable.place, module);
}

void check(const Function& function, const Module& module) {
  promise(function.declaration == function.instructions.empty(), "a body has instructions");
  for (const auto* variables : {&function.parameters, &function.results, &function.variables})
    for (const Variable& variable : *variables) {
      check(variable, module);
      promise(variable.reg < std::int32_t(function.registers.size()), "a parameter's register exists");
    }
  for (const Instruction& instruction : function.instructions) {
    promise(instruction.guard < std::int32_t(function.registers.size()), "a guard exists");
    check(instruction.place, module);
    for (const Operand& operand : instruction.operands) check(operand, function);
  }
  for (const BranchTable& table : function.branch_tables)
    for (const std::uint32_t target : table.targets)
      promise(target < function.instructions.size(), "a branch target marks something");
  for (const NameComment& name : function.names)
    promise(name.instruction < function.instructions.size(), "a name belongs to an instruction");
}

void check(const Module& module) {
  for (std::size_t i = 0; i < module.inline_sites.size(); ++i) {
    check(module.inline_sites[i].at, module);
    promise(module.inline_sites[i].at.inlined_at < std::int32_t(i), "inlining ends somewhere");
  }
  for (const Variable& variable : module.variables) check(variable, module);
  for (const Function& function : module.functions) check(function, module);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    check(read(text, "fuzz.ptx"));
  } catch (const wm::Error& error) {
    promise(error.code() == wm::ErrorCode::compile, "any refusal is one of the text", error.what());
    promise(std::string_view(error.what()).starts_with("fuzz.ptx:"), "a refusal names its place", error.what());
    wm::fuzz::promise_clean(error.what());
  }
  wm::runtime::summarize(text);
  return 0;
}
