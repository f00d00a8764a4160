// Loading a module: variables get their places, functions are decoded, refusals are listed together.
#include "vgpu/machine/program.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <span>

#include <fmt/format.h>

#include "vgpu/machine/source_lines.hpp"
#include "vgpu/memory/spaces.hpp"
#include "warpmill/error.hpp"

namespace wm::vgpu {

namespace {
constexpr std::size_t refusals_shown = 10;
u32 round_up(u32 value, u32 multiple) { return (value + multiple - 1) / multiple * multiple; }

std::string file_name(const std::string& path) {
  const auto slash = path.find_last_of('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

// Calls visit(name) for every symbol among the operands.
template <class Visit>
void for_each_symbol(const ptx::Operand& operand, Visit& visit) {
  if (operand.kind == ptx::OperandKind::symbol) visit(operand.name);
  for (const ptx::Operand& part : operand.parts) for_each_symbol(part, visit);
}
}  // namespace

Program::Program(std::string_view ptx, std::string_view name, Memory& memory, const Chip& chip, Decode decode,
                 const Linked& linked)
    : module_(ptx::read(ptx, name)), memory_(memory), chip_(chip) {
  if (!chip.arch.runs_ptx(module_.target))
    throw Error(ErrorCode::unsupported,
                fmt::format("{} is for {}; this device is {}", module_.name, module_.target.name(), chip.arch.name()));
  for (const ptx::Function& source : module_.functions) {
    if (source.declaration && function_index_.contains(source.name)) continue;
    Function& f = functions_.emplace_back();
    f.name = source.name;
    f.index = static_cast<u32>(functions_.size() - 1);
    f.entry = source.entry;
    f.source = &source;
    function_index_[f.source->name] = f.index;  // a definition after its declaration takes the name
  }
  try {
    place_variables(linked);
    place_shared();
    relocate();
    std::vector<std::string> refused;
    for (Function& f : functions_)
      if (!f.source->declaration) decode(*this, f, refused);
    if (!refused.empty()) {
      std::string text;
      for (std::size_t i = 0; i < std::min(refused.size(), refusals_shown); ++i) text += (i ? "\n" : "") + refused[i];
      if (refused.size() > refusals_shown)
        text += fmt::format("\n... and {} more like these", refused.size() - refusals_shown);
      throw Error(ErrorCode::unsupported, text);
    }
    describe_kernels();
  } catch (...) {
    for (u64 address : owned_) memory_.free(address);
    throw;
  }
}

Program::~Program() {
  for (u64 address : owned_) memory_.free(address);
}

const Function* Program::find(std::string_view function) const {
  const auto found = function_index_.find(function);
  return found == function_index_.end() ? nullptr : &functions_[found->second];
}

const Function& Program::entry_of(const ProgramKernel& kernel) const { return *find(kernel.name); }

u64 Program::place_in_memory(const ptx::Variable& v) {
  const u64 bytes = std::max<u64>(v.bytes, 1);
  const u64 address = memory_.allocate(bytes, v.name, v.space == ptx::Space::constant);
  owned_.push_back(address);
  const auto initial = std::as_bytes(std::span(v.initial)).first(std::min<u64>(v.initial.size(), v.bytes));
  std::ranges::copy(initial, memory_.at(address, bytes, "a variable"));
  return address;
}

void Program::place_variables(const Linked& linked) {
  for (u32 i = 0; i < module_.variables.size(); ++i) {
    const ptx::Variable& v = module_.variables[i];
    variable_index_[v.name] = i;
    const bool in_memory = v.space == ptx::Space::global || v.space == ptx::Space::constant;
    const u64 elsewhere = in_memory && v.external && linked ? linked(v.name) : 0;
    if (in_memory && v.external && elsewhere == 0)
      throw Error(ErrorCode::unsupported,
                  fmt::format("{}:{}: `{}` is defined in another module; modules are not linked", module_.name,
                              v.place.ptx_line, v.name));
    variable_address_.push_back(elsewhere != 0 ? elsewhere : in_memory ? place_in_memory(v) : 0);
  }
  for (const ptx::Function& f : module_.functions)
    for (const ptx::Variable& v : f.variables)
      if (v.space == ptx::Space::global || v.space == ptx::Space::constant) local_address_[&v] = place_in_memory(v);
}

// Module-scope variables come first, then those of device functions, then each kernel's own; a kernel that touches
// none of the others' begins with its own. Dynamic shared memory follows the static, aligned as the kernel and what it
// calls declare it.
void Program::place_shared() {
  const auto is_static = [](const ptx::Variable& v) { return v.space == ptx::Space::shared && !v.dynamic; };
  struct Needs {
    bool common = false;  // static shared variables outside of kernels
    u32 alignment = 16;   // of dynamic shared memory
    bool operator==(const Needs&) const = default;
  };
  std::vector<Needs> needs(functions_.size());
  std::vector<std::vector<u32>> callers(functions_.size());
  for (const Function& f : functions_) {
    Needs& mine = needs[f.index];
    const auto use = [&](const ptx::Variable& v, bool common) {
      if (v.space == ptx::Space::shared && v.dynamic) mine.alignment = std::max(mine.alignment, v.alignment);
      if (is_static(v) && common) mine.common = true;
    };
    const auto visit = [&](const std::string& name) {
      if (const auto v = variable_index_.find(name); v != variable_index_.end())
        use(module_.variables[v->second], true);
      if (const Function* callee = find(name)) callers[callee->index].push_back(f.index);
    };
    for (const ptx::Instruction& in : f.source->instructions)
      for (const ptx::Operand& o : in.operands) for_each_symbol(o, visit);
    for (const ptx::Variable& v : f.source->variables) use(v, !f.entry);
  }
  // What a function needs, all that call it need.
  std::vector<u32> changed(functions_.size());
  std::iota(changed.begin(), changed.end(), 0u);
  while (!changed.empty()) {
    const Needs passed_on = needs[changed.back()];
    const auto& to = callers[changed.back()];
    changed.pop_back();
    for (const u32 caller : to) {
      const Needs before = needs[caller];
      needs[caller] = {before.common || passed_on.common, std::max(before.alignment, passed_on.alignment)};
      if (needs[caller] != before) changed.push_back(caller);
    }
  }
  const auto place = [&](u32& end, const ptx::Variable& v) {
    const u32 offset = round_up(end, std::max(v.alignment, 1u));  // neither is above 2^24
    if (offset > shared_offset_mask || v.bytes > shared_offset_mask - offset)
      throw Error(ErrorCode::unsupported, fmt::format("{}:{}: `{}` takes {} bytes of shared memory", module_.name,
                                                      v.place.ptx_line, v.name, v.bytes));
    end = offset + static_cast<u32>(v.bytes);
    return offset;
  };
  u32 common = shared_reserved;
  for (u32 i = 0; i < module_.variables.size(); ++i)
    if (is_static(module_.variables[i])) variable_address_[i] = place(common, module_.variables[i]);
  for (const Function& f : functions_)
    if (!f.entry)
      for (const ptx::Variable& v : f.source->variables)
        if (is_static(v)) local_shared_offset_[&v] = place(common, v);
  for (Function& f : functions_) {
    f.shared_end = needs[f.index].common ? common : shared_reserved;
    if (f.entry)
      for (const ptx::Variable& v : f.source->variables)
        if (is_static(v)) local_shared_offset_[&v] = place(f.shared_end, v);
    f.dynamic_shared = round_up(f.shared_end, needs[f.index].alignment);
  }
}

std::vector<std::pair<const ptx::Variable*, u32>> Program::shared_variables(const Function& kernel) const {
  std::vector<std::pair<const ptx::Variable*, u32>> found;
  for (const ptx::Variable& v : kernel.source->variables)
    if (const auto at = local_shared_offset_.find(&v); at != local_shared_offset_.end())
      found.emplace_back(&v, at->second);
  for (u32 i = 0; i < module_.variables.size(); ++i)
    if (module_.variables[i].space == ptx::Space::shared && !module_.variables[i].dynamic)
      found.emplace_back(&module_.variables[i], static_cast<u32>(variable_address_[i]));
  return found;
}

std::pair<u64, u64> Program::variable(std::string_view name) const {
  const auto found = variable_index_.find(name);
  if (found == variable_index_.end()) return {};
  const ptx::Variable& v = module_.variables[found->second];
  if (v.space != ptx::Space::global && v.space != ptx::Space::constant) return {};
  return {variable_address_[found->second], v.bytes};
}

u64 Program::address_of(const std::string& symbol, bool generic) const {
  if (const auto v = variable_index_.find(symbol); v != variable_index_.end()) {
    const bool shared = module_.variables[v->second].space == ptx::Space::shared;
    return variable_address_[v->second] + (shared && generic ? shared_window : 0);
  }
  if (const Function* f = find(symbol)) return function_window + f->index * 16;
  throw Error(ErrorCode::unsupported,
              fmt::format("{}: an initialiser names `{}`, which is no variable or function", module_.name, symbol));
}

void Program::relocate() {
  const auto fix = [&](const ptx::Variable& v, u64 address) {
    for (const ptx::Relocation& r : v.relocations) {
      const u64 value = (address_of(r.symbol, r.generic) + static_cast<u64>(r.addend)) >> r.shift;
      std::memcpy(memory_.at(address + r.offset, r.bytes, "an initialiser"), &value, std::min<u32>(r.bytes, 8));
    }
  };
  for (u32 i = 0; i < module_.variables.size(); ++i) fix(module_.variables[i], variable_address_[i]);
  for (const auto& [v, address] : local_address_) fix(*v, address);
}

void Program::describe_kernels() {
  for (const Function& f : functions_) {
    if (!f.entry) continue;
    ProgramKernel k;
    k.name = f.name;
    for (std::size_t i = 0; i < f.parameters.size(); ++i) {
      const ptx::Variable& v = f.source->parameters[i];
      const Slot slot = f.parameters[i];
      const bool floating = v.type == ptx::Type::f32 || v.type == ptx::Type::f64;
      const bool scalar = slot.bytes == ptx::bytes_of(v.type);
      const ParameterKind kind = v.pointer         ? ParameterKind::pointer
                                 : !scalar         ? ParameterKind::aggregate
                                 : floating        ? ParameterKind::floating
                                 : slot.bytes == 8 ? ParameterKind::unknown  // a pointer or an integer
                                                   : ParameterKind::integer;
      k.parameters.push_back({slot.offset, slot.bytes, kind});
      k.parameter_bytes = std::max<std::size_t>(k.parameter_bytes, slot.offset + slot.bytes);
    }
    k.static_shared_bytes = f.shared_end - shared_reserved;
    k.local_bytes = f.frame_bytes;
    for (const auto* limits : {&f.source->max_threads, &f.source->required_threads})
      if (limits->size() == 3) {
        const u64 threads = u64{(*limits)[0]} * (*limits)[1] * (*limits)[2];
        k.max_threads = static_cast<u32>(std::min<u64>(k.max_threads, threads));
      }
    const auto required = [](const std::vector<std::uint32_t>& of) {
      return of.size() == 3 ? Dim3{of[0], of[1], of[2]} : Dim3{0, 0, 0};
    };
    k.required_block = required(f.source->required_threads);
    k.required_cluster = required(f.source->required_cluster);
    kernels_.push_back(std::move(k));
  }
}

std::string Program::place_of(const Function& f, u32 pc) const {
  if (pc >= f.instruction_of.size()) return fmt::format("{} (the end of `{}`)", module_.name, f.name);
  const ptx::Instruction& in = f.source->instructions[f.instruction_of[pc]];
  const std::string text = fmt::format("{}:{}", module_.name, in.place.ptx_line);
  if (in.place.file == 0) return fmt::format("{} `{}`", text, in.full_name());
  const auto [chain, own] = source_lines(module_, in.place);
  return fmt::format("{}:{} ({}) `{}`", file_name(chain[own].file), chain[own].line, text, in.full_name());
}

}  // namespace wm::vgpu
