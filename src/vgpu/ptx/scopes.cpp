// Declaring and finding the names of a function.
#include "vgpu/ptx/scopes.hpp"

#include <utility>

#include <fmt/format.h>

#include "common/numbers.hpp"

namespace wm::vgpu::ptx {

namespace {

constexpr std::size_t deepest = 32;
constexpr std::uint32_t most_registers = 1u << 22;   // of one family
constexpr std::string_view components = "xyzwabcd";  // the last four for .v8, which the text cannot name

}  // namespace

void Scopes::open() {
  if (scopes_.size() == deepest) lexer_.fail(lexer_.peek(), fmt::format("scopes nested deeper than {}", deepest));
  scopes_.emplace_back();
}

void Scopes::close() {
  Scope scope = std::move(scopes_.back());
  scopes_.pop_back();
  for (const Use& use : scope.uses) {
    const auto found = scope.names.find(use.name.text);
    if (found != scope.names.end())
      fill(use, found->second);
    else if (!scopes_.empty())
      scopes_.back().uses.push_back(use);
    else
      lexer_.fail(use.name,
                  fmt::format("{} is no register, variable, function or label known here", quoted(use.name.text)));
  }
}

void Scopes::fill(const Use& use, const NamedThing& target) {
  const bool label = target.kind == NamedThing::Kind::label;
  if (use.in_table ? !label : !label && target.kind != NamedThing::Kind::table)
    lexer_.fail(use.name, fmt::format("expected a label, found {}", quoted(use.name.text)));
  if (use.in_table) {
    function_.branch_tables[use.holder].targets[use.slot] = target.index;
    return;
  }
  Operand& operand = function_.instructions[use.holder].operands[use.slot];
  operand.kind = label ? OperandKind::label : OperandKind::table;
  operand.index = target.index;
}

void Scopes::add(const Token& name, NamedThing thing) {
  if (!scopes_.back().names.try_emplace(name.text, std::move(thing)).second)
    lexer_.fail(name, fmt::format("{} is already declared in this scope", quoted(name.text)));
}

std::uint32_t Scopes::add_registers(std::string_view name, Type type, std::uint32_t width) {
  const auto first = std::uint32_t(function_.registers.size());
  for (std::uint32_t component = 0; component < width; ++component) {
    Register& fresh = function_.registers.emplace_back();
    fresh.name = name;
    if (width > 1) fresh.name.append(".").push_back(components[component]);
    fresh.type = type;
  }
  return first;
}

void Scopes::declare_register(const Token& name, Type type, std::uint32_t width) {
  add(name, {NamedThing::Kind::reg, std::uint32_t(function_.registers.size()), width, {}});
  add_registers(name.text, type, width);
}

void Scopes::declare_registers(const Token& prefix, Type type, std::uint32_t width, std::uint32_t count) {
  if (count > most_registers)
    lexer_.fail(prefix,
                fmt::format("{} registers in one declaration: at most {} are supported", count, most_registers));
  if (!scopes_.back().families.try_emplace(prefix.text, Family{type, width, count}).second)
    lexer_.fail(prefix, fmt::format("{} is already declared in this scope", quoted(prefix.text)));
}

std::string Scopes::declare_variable(const Token& name, bool taken) {
  std::uint32_t& copies = copies_[name.text];
  if (copies == 0 && taken) copies = 1;
  ++copies;
  std::string unique(name.text);
  if (copies > 1) unique += fmt::format("#{}", copies);  // '#' is in no PTX name
  add(name, {NamedThing::Kind::variable, 0, 1, unique});
  return unique;
}

void Scopes::declare_label(const Token& name) {
  add(name, {NamedThing::Kind::label, std::uint32_t(function_.instructions.size()), 1, {}});
}

void Scopes::declare_table(const Token& name, std::uint32_t table) {
  add(name, {NamedThing::Kind::table, table, 1, {}});
}

void Scopes::declare_prototype(const Token& name) { add(name, {NamedThing::Kind::prototype, 0, 1, {}}); }

// `%r12` may be number 12 of `%r<20>` or number 2 of `%r1<5>`.
NamedThing* Scopes::find_in_families(Scope& scope, std::string_view name) {
  if (scope.families.empty()) return nullptr;
  for (std::size_t split = name.size() - 1; split > 0 && name.size() - split <= 7; --split) {
    if (name[split] < '0' || name[split] > '9') return nullptr;
    if (name[split] == '0' && split + 1 < name.size()) continue;  // %r007 is no member
    const auto family = scope.families.find(name.substr(0, split));
    if (family == scope.families.end()) continue;
    const auto number = number_from<std::uint32_t>(name.substr(split));
    if (!number || *number >= family->second.count) continue;
    const std::uint32_t index = add_registers(name, family->second.type, family->second.width);
    const NamedThing thing{NamedThing::Kind::reg, index, family->second.width, {}};
    return &scope.names.emplace(name, thing).first->second;
  }
  return nullptr;
}

const NamedThing* Scopes::find(std::string_view name) {
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    const auto found = scope->names.find(name);
    if (found != scope->names.end()) return &found->second;
    if (const NamedThing* member = find_in_families(*scope, name)) return member;
  }
  return nullptr;
}

void Scopes::use_in_operand(const Token& name, std::uint32_t instruction, std::uint32_t operand) {
  scopes_.back().uses.push_back({name, false, instruction, operand});
}

void Scopes::use_in_table(const Token& name, std::uint32_t table, std::uint32_t slot) {
  scopes_.back().uses.push_back({name, true, table, slot});
}

}  // namespace wm::vgpu::ptx
