// Instructions and every form of operand.
#include <algorithm>
#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "vgpu/ptx/body.hpp"
#include "vgpu/ptx/constants.hpp"

namespace wm::vgpu::ptx {

namespace {

constexpr std::string_view special_registers[] = {"%aggr_smem_size",
                                                  "%clock",
                                                  "%clock64",
                                                  "%clock_hi",
                                                  "%cluster_ctaid",
                                                  "%cluster_ctarank",
                                                  "%cluster_nctaid",
                                                  "%cluster_nctarank",
                                                  "%clusterid",
                                                  "%ctaid",
                                                  "%current_graph_exec",
                                                  "%dynamic_smem_size",
                                                  "%globaltimer",
                                                  "%globaltimer_hi",
                                                  "%globaltimer_lo",
                                                  "%gridid",
                                                  "%is_explicit_cluster",
                                                  "%laneid",
                                                  "%lanemask_eq",
                                                  "%lanemask_ge",
                                                  "%lanemask_gt",
                                                  "%lanemask_le",
                                                  "%lanemask_lt",
                                                  "%nclusterid",
                                                  "%nctaid",
                                                  "%nsmid",
                                                  "%ntid",
                                                  "%nwarpid",
                                                  "%reserved_smem_offset_0",
                                                  "%reserved_smem_offset_1",
                                                  "%reserved_smem_offset_begin",
                                                  "%reserved_smem_offset_cap",
                                                  "%reserved_smem_offset_end",
                                                  "%smid",
                                                  "%tid",
                                                  "%total_smem_size",
                                                  "%warpid"};

bool is_special(std::string_view name) {
  if (std::find(std::begin(special_registers), std::end(special_registers), name) != std::end(special_registers))
    return true;
  const auto numbered = [&](std::string_view prefix, std::string_view suffix, unsigned count) {
    if (!name.starts_with(prefix) || !name.ends_with(suffix) || name.size() <= prefix.size() + suffix.size())
      return false;
    const std::string_view digits = name.substr(prefix.size(), name.size() - prefix.size() - suffix.size());
    unsigned number = 0;
    const auto [end, error] = std::from_chars(digits.begin(), digits.end(), number);
    return error == std::errc() && end == digits.end() && number < count && (digits.size() == 1 || digits[0] != '0');
  };
  return numbered("%envreg", "", 32) || numbered("%pm", "", 8) || numbered("%pm", "_64", 8);
}

// The component that .x and .r name, and so on; 4 for any other word.
std::uint32_t component_of(std::string_view word) {
  for (std::string_view letters : {"xyzw", "rgba"})
    if (const std::size_t at = letters.find(word); word.size() == 1 && at != std::string_view::npos)
      return std::uint32_t(at);
  return 4;
}

}  // namespace

void BodyReader::read_guard(Instruction& instruction) {
  lexer_.take();  // '@'
  instruction.guard_negated = lexer_.accept('!');
  const Token name = lexer_.expect_word("a predicate register after '@'");
  const NamedThing* thing = scopes_.find(name.text);
  if (thing == nullptr || thing->kind != NamedThing::Kind::reg || function_.registers[thing->index].type != Type::pred)
    lexer_.fail(name, fmt::format("the guard {} is no predicate register", quoted(name.text)));
  instruction.guard = std::int32_t(thing->index);
}

void BodyReader::read_instruction(Instruction instruction, const Token& opcode) {
  attach_names();
  instruction.opcode = opcode.text;
  instruction.place = module_.lines.place(opcode.line);
  while (lexer_.peek().kind == TokenKind::dotted) instruction.modifiers.emplace_back(lexer_.take().text);
  if (opcode.text == "call")
    read_call(instruction);
  else if (!lexer_.peek().is(';'))
    read_operands(instruction);
  if (!lexer_.peek().is(';'))
    lexer_.fail_expected(fmt::format("';' after the operands of {}", quoted(instruction.full_name())));
  lexer_.take();
  function_.instructions.push_back(std::move(instruction));
}

void BodyReader::read_operands(Instruction& instruction) {
  operand_ = 0;
  if (instruction.opcode == "bra" && lexer_.peek().kind == TokenKind::word) {
    instruction.operands.push_back(use_label(lexer_.take()));
    return;
  }
  do {
    instruction.operands.push_back(read_operand(true));
    ++operand_;
  } while (lexer_.accept(','));
}

void BodyReader::read_call(Instruction& instruction) {
  Operand results, arguments;
  results.kind = arguments.kind = OperandKind::list;
  if (lexer_.peek().is('(')) {
    results = read_list();
    lexer_.expect(',', "after the results of a call");
  }
  const Token callee_token = lexer_.peek();
  Operand callee = read_operand(false);
  if (callee.kind != OperandKind::symbol && callee.kind != OperandKind::reg)
    lexer_.fail(callee_token, fmt::format("expected a function or a register, found {}", quoted(callee_token.text)));
  bool more = lexer_.accept(',');
  if (more && lexer_.peek().is('(')) {
    arguments = read_list();
    more = lexer_.accept(',');
  }
  instruction.operands = {std::move(results), std::move(callee), std::move(arguments)};
  if (!more) return;
  const Token prototype = lexer_.expect_word("a prototype or a list of call targets");
  const NamedThing* thing = scopes_.find(prototype.text);
  if (thing == nullptr || thing->kind != NamedThing::Kind::prototype)
    lexer_.fail(prototype, fmt::format("{} is no prototype or list of call targets", quoted(prototype.text)));
  Operand& operand = instruction.operands.emplace_back();
  operand.kind = OperandKind::symbol;
  operand.name = prototype.text;
}

Operand BodyReader::read_list() {
  Operand list;
  list.kind = OperandKind::list;
  lexer_.take();  // '('
  if (lexer_.accept(')')) return list;
  do list.parts.push_back(read_operand(false));
  while (lexer_.accept(','));
  lexer_.expect(')', "to close '('");
  return list;
}

Operand BodyReader::read_operand(bool may_be_label) {
  const Token& token = lexer_.peek();
  if (token.is('{')) return read_vector();
  if (token.is('[')) return read_memory();
  if (token.is('!')) {
    const Token mark = lexer_.take();
    Operand operand = read_named(false);
    if (operand.kind != OperandKind::reg) lexer_.fail(mark, "'!' needs a predicate register");
    operand.negated = true;
    return operand;
  }
  if (token.kind != TokenKind::word || token.text == "WARP_SZ") return read_immediate();
  Operand first = read_named(may_be_label);
  if (!lexer_.peek().is('|')) return first;
  const Token mark = lexer_.take();
  Operand pair;
  pair.kind = OperandKind::pair;
  pair.parts.push_back(std::move(first));
  pair.parts.push_back(read_named(false));
  for (const Operand& part : pair.parts)
    if (part.kind != OperandKind::reg && part.kind != OperandKind::sink) lexer_.fail(mark, "'|' joins two registers");
  return pair;
}

Operand BodyReader::read_named(bool may_be_label) {
  const Token name = lexer_.expect_word("a register or a name");
  Operand operand;
  if (name.text == "_") {
    operand.kind = OperandKind::sink;
    return operand;
  }
  const NamedThing* thing = scopes_.find(name.text);
  if (thing != nullptr && thing->kind == NamedThing::Kind::reg) return read_register(name, *thing);
  const bool variable = thing != nullptr && thing->kind == NamedThing::Kind::variable;
  if (variable || (thing == nullptr && module_.declared(name.text))) {
    operand.kind = OperandKind::symbol;
    operand.name = variable ? thing->variable : std::string(name.text);
    operand.integer = read_offset(lexer_);
    return operand;
  }
  if (thing == nullptr && is_special(name.text)) {
    operand.kind = OperandKind::special;
    operand.name = name.text;
    if (lexer_.peek().kind == TokenKind::dotted) {
      const Token component = lexer_.take();
      if (component_of(component.text) == 4)
        lexer_.fail(component, fmt::format("{} has no component '.{}'", quoted(name.text), component.text));
      operand.name.append(".").append(component.text);
    }
    return operand;
  }
  if (name.text[0] == '%') lexer_.fail(name, fmt::format("the register {} is not declared", quoted(name.text)));
  if (!may_be_label)
    lexer_.fail(name, fmt::format("{} is no register, variable or function known here", quoted(name.text)));
  return use_label(name);
}

Operand BodyReader::use_label(const Token& name) {
  Operand operand;
  operand.kind = OperandKind::label;
  scopes_.use_in_operand(name, std::uint32_t(function_.instructions.size()), operand_);
  return operand;
}

Operand BodyReader::read_register(const Token& name, const NamedThing& thing) {
  Operand operand;
  operand.kind = OperandKind::reg;
  operand.index = thing.index;
  if (lexer_.peek().kind == TokenKind::dotted) {
    const Token component = lexer_.take();
    const std::uint32_t number = component_of(component.text);
    if (thing.width == 1 || number >= thing.width)
      lexer_.fail(component, fmt::format("{} has no component '.{}'", quoted(name.text), component.text));
    operand.index += number;
  } else if (thing.width > 1) {
    Operand vector;
    vector.kind = OperandKind::vector;
    for (std::uint32_t component = 0; component < thing.width; ++component) {
      vector.parts.push_back(operand);
      ++operand.index;
    }
    return vector;
  }
  return operand;
}

// What stands in brackets before an offset: a register, a variable, a number.
Operand BodyReader::read_base() {
  const Token token = lexer_.peek();
  Operand memory;
  memory.kind = OperandKind::memory;
  Operand base = token.kind == TokenKind::word && token.text != "WARP_SZ" ? read_named(false) : read_immediate();
  if (base.kind != OperandKind::reg && base.kind != OperandKind::symbol && base.kind != OperandKind::integer)
    lexer_.fail(token, fmt::format("expected an address, found {}", quoted(token.text)));
  memory.integer = base.kind == OperandKind::symbol ? std::exchange(base.integer, 0) : read_offset(lexer_);
  memory.parts.push_back(std::move(base));
  return memory;
}

Operand BodyReader::read_memory() {
  lexer_.take();  // '['
  Operand operand = read_base();
  if (lexer_.peek().is(',')) {
    Operand tensor;
    tensor.kind = OperandKind::tensor;
    tensor.parts.push_back(std::move(operand));
    while (lexer_.accept(',')) tensor.parts.push_back(lexer_.peek().is('{') ? read_vector() : read_base());
    operand = std::move(tensor);
  }
  lexer_.expect(']', "after an address");
  return operand;
}

Operand BodyReader::read_vector() {
  Operand vector;
  vector.kind = OperandKind::vector;
  lexer_.take();  // '{'
  do {
    if (lexer_.peek().is('{') || lexer_.peek().is('[')) lexer_.fail_expected("a register or a constant in a vector");
    vector.parts.push_back(read_operand(false));
  } while (lexer_.accept(','));
  lexer_.expect('}', "after the elements of a vector");
  return vector;
}

Operand BodyReader::read_immediate() {
  const Constant value = read_constant(lexer_);
  Operand operand;
  operand.integer = std::int64_t(value.bits);
  switch (value.kind) {
    case Constant::Kind::single_bits: operand.kind = OperandKind::f32; break;
    case Constant::Kind::double_bits: operand.kind = OperandKind::f64; break;
    default: operand.kind = OperandKind::integer;
  }
  return operand;
}

}  // namespace wm::vgpu::ptx
