// Statements of a function's body: scopes, declarations, labels.
#include "vgpu/ptx/body.hpp"

#include <utility>

#include <fmt/format.h>

namespace wm::vgpu::ptx {

BodyReader::BodyReader(const Surroundings& module, Function& function)
    : module_(module), lexer_(module.lexer), function_(function), scopes_(module.lexer, function) {}

void BodyReader::declare_parameter(const Token& name, Variable& parameter) {
  parameter.name = scopes_.declare_variable(name, module_.declared(name.text));
}

void BodyReader::declare_register_parameter(const Token& name, Type type, Variable& parameter) {
  parameter.reg = std::int32_t(function_.registers.size());
  scopes_.declare_register(name, type, 1);
}

void BodyReader::read() {
  const std::size_t outside = scopes_.depth();
  scopes_.open();
  while (scopes_.depth() > outside) read_statement();
  finish();
  scopes_.close();
}

void BodyReader::read_statement() {
  const Token& token = lexer_.peek();
  if (token.is('{')) {
    scopes_.open();
    lexer_.take();
  } else if (token.is('}')) {
    scopes_.close();
    lexer_.take();
  } else if (token.is(';')) {
    lexer_.take();
  } else if (token.kind == TokenKind::dotted) {
    read_directive();
  } else if (token.is('@')) {
    Instruction instruction;
    read_guard(instruction);
    const Token opcode = lexer_.expect_word("an instruction after its guard");
    read_instruction(std::move(instruction), opcode);
  } else {
    const Token word = lexer_.expect_word("an instruction, a label, a directive or '}'");
    if (lexer_.accept(':'))
      read_labelled(word);
    else
      read_instruction({}, word);
  }
}

void BodyReader::read_directive() {
  const Token directive = lexer_.take();
  if (directive.text == "loc") return module_.lines.read_location();
  if (directive.text == "file") return module_.lines.read_file();
  if (directive.text == "reg") return read_registers();
  const Space space = space_named(directive.text);
  if (space == Space::shared || space == Space::local || space == Space::param) return read_variables(space);
  if (directive.text == "pragma") {
    if (lexer_.peek().kind != TokenKind::string) lexer_.fail_expected("a string after '.pragma'");
    lexer_.take();
    return lexer_.expect(';', "after '.pragma'");
  }
  lexer_.fail(directive, fmt::format("the directive {} is not supported in a function", describe(directive)));
}

void BodyReader::read_registers() {
  const Qualifiers qualifiers = read_qualifiers(lexer_);
  do {
    const Token name = lexer_.expect_word("a register's name");
    if (lexer_.accept('<')) {
      const std::uint32_t count = lexer_.expect_number("the number of registers");
      lexer_.expect('>', "after the number of registers");
      scopes_.declare_registers(name, qualifiers.type, qualifiers.width, count);
    } else {
      scopes_.declare_register(name, qualifiers.type, qualifiers.width);
    }
  } while (lexer_.accept(','));
  lexer_.expect(';', "after a declaration");
}

void BodyReader::read_variables(Space space) {
  const Qualifiers qualifiers = read_qualifiers(lexer_);
  do {
    const Token name = lexer_.peek();
    Variable variable = module_.variables.read(qualifiers, space, false);
    variable.name = scopes_.declare_variable(name, module_.declared(name.text));
    function_.variables.push_back(std::move(variable));
  } while (lexer_.accept(','));
  lexer_.expect(';', "after a declaration");
}

void BodyReader::read_labelled(const Token& name) {
  if (lexer_.accept_dotted("branchtargets")) return read_branch_targets(name);
  if (lexer_.accept_dotted("callprototype") || lexer_.accept_dotted("calltargets")) {
    scopes_.declare_prototype(name);
    return skip_prototype();
  }
  scopes_.declare_label(name);
  last_label_ = function_.instructions.size();
}

void BodyReader::read_branch_targets(const Token& name) {
  const auto table = std::uint32_t(function_.branch_tables.size());
  scopes_.declare_table(name, table);
  function_.branch_tables.push_back({std::string(name.text), {}});
  auto& targets = function_.branch_tables.back().targets;
  do {
    scopes_.use_in_table(lexer_.expect_word("a label"), table, std::uint32_t(targets.size()));
    targets.push_back(0);
  } while (lexer_.accept(','));
  lexer_.expect(';', "after the branch targets");
}

// The parameters at the call say all that an indirect call needs.
void BodyReader::skip_prototype() {
  while (!lexer_.accept(';')) {
    if (lexer_.peek().kind == TokenKind::end) lexer_.fail_expected("';' after a prototype");
    lexer_.take();
  }
}

// A name comment belongs to the instruction after it.
void BodyReader::attach_names() {
  for (std::string_view text : lexer_.take_names())
    function_.names.push_back({std::uint32_t(function_.instructions.size()), std::string(text)});
}

// Every label, the last one too, marks an instruction, and no warp runs off the end.
void BodyReader::finish() {
  const auto& instructions = function_.instructions;
  const auto leaves = [](const Instruction& last) {
    return last.guard < 0 && (last.opcode == "ret" || last.opcode == "exit" || last.opcode == "bra");
  };
  if (!instructions.empty() && leaves(instructions.back()) && last_label_ < instructions.size()) return;
  Instruction ret;
  ret.opcode = "ret";
  ret.place = module_.lines.place(lexer_.peek().line);
  function_.instructions.push_back(std::move(ret));
}

}  // namespace wm::vgpu::ptx
