// Numbering the ops of a program, and finding their lines.
#include "vgpu/check/sites.hpp"

#include <algorithm>

#include "vgpu/machine/source_lines.hpp"

namespace wm::vgpu::check {
namespace {

std::vector<bool> written_registers(const Function& function) {
  std::vector<bool> written(function.source->registers.size());
  for (const u32 reg : function.touched.all_writes()) written[reg] = true;
  for (const auto* variables : {&function.source->parameters, &function.source->results})
    for (const ptx::Variable& variable : *variables)
      if (variable.reg >= 0) written[static_cast<u32>(variable.reg)] = true;
  return written;
}

}  // namespace

Sites::Sites(const Program& program) : program_(program) {
  first_.resize(program.functions().size());
  for (const Function& function : program.functions()) {
    first_[function.index] = static_cast<u32>(sites_.size());
    const std::vector<bool> written = written_registers(function);
    for (u32 op = 0; op < function.ops.size(); ++op) {
      Site site;
      site.function = &function;
      site.effect = &function.effects[op];
      site.index = function.instruction_of[op];
      // The last op of an instruction does what it says; those before it prepare operands.
      u32 last = op;
      while (last + 1 < function.ops.size() && function.instruction_of[last + 1] == site.index) ++last;
      site.instruction = &function.effects[last];
      // Compilers write copies, selections and stores of values they do not care about; arithmetic with one is a
      // mistake.
      const auto reads = function.touched.reads(site.index);
      site.reads_unwritten = site.effect->kind == Effect::Kind::arithmetic &&
                             std::any_of(reads.begin(), reads.end(), [&](u32 reg) { return !written[reg]; });
      sites_.push_back(site);
    }
  }
}

FindingPlace Sites::place(u32 number) const {
  const Site& site = sites_[number];
  const ptx::Module& module = program_.module();
  const ptx::Instruction& instruction = site.function->source->instructions[site.index];
  FindingPlace place;
  place.instruction = instruction.full_name();
  if (instruction.place.file == 0) {
    place.file = module.name;
    place.line = instruction.place.ptx_line;
    return place;
  }
  const auto [chain, own] = source_lines(module, instruction.place);
  place.file = chain[own].file;
  place.line = chain[own].line;
  for (std::size_t i = own + 1; i < chain.size(); ++i) place.inlined_at.push_back({chain[i].file, chain[i].line});
  for (std::size_t i = own; i > 0; --i) place.through.push_back({chain[i - 1].file, chain[i - 1].line});
  return place;
}

}  // namespace wm::vgpu::check
