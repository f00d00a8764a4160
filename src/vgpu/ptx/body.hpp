// A function's body: statements and their operands.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "vgpu/ptx/lexer.hpp"
#include "vgpu/ptx/lines.hpp"
#include "vgpu/ptx/module.hpp"
#include "vgpu/ptx/scopes.hpp"
#include "vgpu/ptx/variables.hpp"

namespace wm::vgpu::ptx {

// What the rest of the module gives to a body.
struct Surroundings {
  Lexer& lexer;
  Lines& lines;
  VariableReader& variables;
  std::function<bool(std::string_view)> declared;  // a variable or function of the module
};

class BodyReader {
 public:
  BodyReader(const Surroundings& module, Function& function);

  void declare_parameter(const Token& name, Variable& parameter);  // before the body
  void declare_register_parameter(const Token& name, Type type, Variable& parameter);
  void read();  // from after the opening brace to the closing one

 private:
  // Statements (body.cpp)
  void read_statement();
  void read_directive();
  void read_registers();
  void read_variables(Space space);
  void read_labelled(const Token& name);
  void read_branch_targets(const Token& name);
  void skip_prototype();
  void attach_names();
  void finish();

  // Instructions (operands.cpp)
  void read_guard(Instruction& instruction);
  void read_instruction(Instruction instruction, const Token& opcode);
  void read_call(Instruction& instruction);
  void read_operands(Instruction& instruction);
  Operand read_operand(bool may_be_label);
  Operand read_named(bool may_be_label);
  Operand use_label(const Token& name);
  Operand read_register(const Token& name, const NamedThing& thing);
  Operand read_memory();
  Operand read_vector();
  Operand read_list();
  Operand read_immediate();
  Operand read_base();

  const Surroundings& module_;
  Lexer& lexer_;
  Function& function_;
  Scopes scopes_;
  std::size_t last_label_ = 0;  // the instruction that the latest label marks
  std::uint32_t operand_ = 0;   // the position of the operand being read, for labels that are not known yet
};

}  // namespace wm::vgpu::ptx
