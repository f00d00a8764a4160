// Reading from an instruction's text what it orders.
#include "vgpu/check/sites.hpp"

#include <algorithm>

#include "vgpu/isa/names.hpp"
#include "vgpu/machine/source_lines.hpp"

namespace wm::vgpu::check {
namespace {

bool has(const ptx::Instruction& in, std::string_view modifier) {
  return std::find(in.modifiers.begin(), in.modifiers.end(), modifier) != in.modifiers.end();
}

bool starts(const ptx::Instruction& in, std::initializer_list<std::string_view> modifiers) {
  return in.modifiers.size() >= modifiers.size() &&
         std::equal(modifiers.begin(), modifiers.end(), in.modifiers.begin());
}

void collect(const ptx::Operand& operand, std::vector<u32>& registers) {
  if (operand.kind == ptx::OperandKind::reg) registers.push_back(operand.index);
  for (const ptx::Operand& part : operand.parts) collect(part, registers);
}

// Instructions whose first operand is no destination.
bool writes_nothing(const ptx::Instruction& in) {
  static constexpr std::string_view names[] = {
      "st",   "red",   "bra",       "bar",        "barrier",        "fence",    "membar",
      "cp",   "wgmma", "ret",       "exit",       "trap",           "prefetch", "stmatrix",
      "call", "brx",   "nanosleep", "setmaxnreg", "griddepcontrol", "tensormap"};
  if (std::find(std::begin(names), std::end(names), in.opcode) != std::end(names)) return true;
  return in.opcode == "mbarrier" && !in.operands.empty() && in.operands[0].kind == ptx::OperandKind::memory;
}

void find_registers(const ptx::Instruction& in, Site& site) {
  for (std::size_t i = 0; i < in.operands.size(); ++i)
    collect(in.operands[i], i == 0 && !writes_nothing(in) && in.operands[0].kind != ptx::OperandKind::memory
                                ? site.writes
                                : site.reads);
  if (in.guard >= 0) site.reads.push_back(static_cast<u32>(in.guard));
}

void classify_copy(const ptx::Instruction& in, Site& site) {
  if (starts(in, {"async", "bulk", "commit_group"})) {
    site.action = Action::bulk_commit;
  } else if (starts(in, {"async", "bulk", "wait_group"})) {
    site.action = Action::bulk_wait;
    site.reading = has(in, "read");
  } else if (starts(in, {"async", "commit_group"})) {
    site.action = Action::copy_commit;
  } else if (starts(in, {"async", "wait_group"}) || starts(in, {"async", "wait_all"})) {
    site.action = Action::copy_wait;
  } else {
    site.copy = true;
  }
  if (!in.operands.empty() && in.operands[0].kind == ptx::OperandKind::integer)
    site.number = static_cast<u32>(in.operands[0].integer);
}

void classify_fence(const ptx::Instruction& in, Site& site) {
  if (has(in, "mbarrier_init")) {
    site.action = Action::init_fence;
  } else if (starts(in, {"proxy", "tensormap::generic"})) {
    site.action = has(in, "acquire") ? Action::map_acquire : Action::map_release;
  } else if (starts(in, {"proxy", "async"}) || starts(in, {"proxy", "async::generic"})) {
    site.action = Action::proxy_fence;
    site.shared = !has(in, "global");
    site.global = !has(in, "shared::cta") && !has(in, "shared::cluster");
  } else if (!starts(in, {"proxy"})) {
    site.action = Action::fence;
    site.acquire = !has(in, "release");
    site.release = !has(in, "acquire");
  }
}

void classify_matrix(const ptx::Instruction& in, Site& site) {
  site.action = has(in, "mma_async")      ? Action::matrix
                : has(in, "fence")        ? Action::matrix_fence
                : has(in, "commit_group") ? Action::matrix_commit
                                          : Action::matrix_wait;
  if (site.action == Action::matrix_wait && !in.operands.empty())
    site.number = static_cast<u32>(in.operands[0].integer);
}

void classify(const ptx::Instruction& in, Site& site) {
  const std::string& opcode = in.opcode;
  site.scope = has(in, "cta") ? Scope::block : has(in, "cluster") ? Scope::cluster : Scope::device;
  site.aligned = has(in, "aligned") || (opcode == "bar" && !has(in, "warp"));
  site.relaxed = has(in, "relaxed");
  find_registers(in, site);
  if (opcode == "ld" || opcode == "st" || opcode == "atom" || opcode == "red") {
    site.atomic = opcode == "atom" || opcode == "red";
    site.compares = site.atomic && has(in, "cas");
    site.strong = site.atomic || site.relaxed || has(in, "acquire") || has(in, "release") || has(in, "volatile") ||
                  has(in, "mmio");
    site.acquire = has(in, "acquire") || has(in, "acq_rel");
    site.release = has(in, "release") || has(in, "acq_rel");
    site.copy = has(in, "async");
  } else if (opcode == "fence" || opcode == "membar") {
    classify_fence(in, site);
  } else if (opcode == "cp") {
    classify_copy(in, site);
  } else if (opcode == "wgmma") {
    classify_matrix(in, site);
  } else if (opcode == "tensormap" && starts(in, {"cp_fenceproxy"})) {
    site.action = Action::map_release;
  } else if (opcode == "mbarrier") {
    site.scope = has(in, "cluster") ? Scope::cluster : Scope::block;
  } else if (opcode == "setmaxnreg") {
    site.action = Action::set_registers;
    site.increases = has(in, "inc");
    if (!in.operands.empty()) site.number = static_cast<u32>(in.operands[0].integer);
  } else if (opcode == "bar" || opcode == "barrier") {
    if (starts(in, {"warp"})) site.action = Action::warp_sync;
    if (starts(in, {"cluster", "arrive"})) site.action = Action::cluster_arrive;
    if (starts(in, {"cluster", "wait"})) site.action = Action::cluster_wait;
  }
}

// Registers that some instruction may write; the first operand is counted whatever the instruction is.
std::vector<bool> written_registers(const ptx::Function& function) {
  std::vector<bool> written(function.registers.size());
  std::vector<u32> found;
  for (const ptx::Instruction& in : function.instructions)
    if (!in.operands.empty() && in.operands[0].kind != ptx::OperandKind::memory) collect(in.operands[0], found);
  for (const auto* variables : {&function.parameters, &function.results})
    for (const ptx::Variable& variable : *variables)
      if (variable.reg >= 0) found.push_back(static_cast<u32>(variable.reg));
  for (const u32 reg : found) written[reg] = true;
  return written;
}

// Compilers write copies, selections and stores of values they do not care about; arithmetic with one is a mistake.
bool is_arithmetic(const std::string& opcode) {
  static constexpr std::string_view names[] = {"add",  "sub", "mul", "mad", "fma",   "div",  "min", "max",
                                               "and",  "or",  "xor", "shl", "shr",   "neg",  "abs", "sqrt",
                                               "setp", "ex2", "lg2", "rcp", "rsqrt", "popc", "clz", "bfe"};
  return std::find(std::begin(names), std::end(names), opcode) != std::end(names);
}

}  // namespace

Sites::Sites(const Program& program) : program_(program) {
  first_.resize(program.functions().size());
  for (const Function& function : program.functions()) {
    first_[function.index] = static_cast<u32>(sites_.size());
    const std::vector<bool> written = written_registers(*function.source);
    for (u32 op = 0; op < function.ops.size(); ++op) {
      Site site;
      site.function = &function;
      site.op = op;
      site.instruction = &function.source->instructions[function.instruction_of[op]];
      if (isa::is_name(function.ops[op])) {
        site.first_op = false;
        sites_.push_back(std::move(site));
        continue;
      }
      site.first_op = op == 0 || function.instruction_of[op] != function.instruction_of[op - 1] ||
                      isa::is_name(function.ops[op - 1]);
      classify(*site.instruction, site);
      site.reads_unwritten = is_arithmetic(site.instruction->opcode) &&
                             std::any_of(site.reads.begin(), site.reads.end(), [&](u32 reg) { return !written[reg]; });
      sites_.push_back(std::move(site));
    }
  }
}

FindingPlace Sites::place(u32 number) const {
  const Site& site = sites_[number];
  const ptx::Module& module = program_.module();
  FindingPlace place;
  place.instruction = site.instruction->full_name();
  const ptx::Place& at = site.instruction->place;
  if (at.file == 0) {
    place.file = module.name;
    place.line = at.ptx_line;
    return place;
  }
  const auto [chain, own] = source_lines(module, at);
  place.file = chain[own].file;
  place.line = chain[own].line;
  for (std::size_t i = own + 1; i < chain.size(); ++i) place.inlined_at.push_back({chain[i].file, chain[i].line});
  for (std::size_t i = own; i > 0; --i) place.through.push_back({chain[i - 1].file, chain[i - 1].line});
  return place;
}

}  // namespace wm::vgpu::check
