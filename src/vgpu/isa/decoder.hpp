// From an instruction of the text to ops: what the families' decoders use to read modifiers and operands.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vgpu/machine/program.hpp"
#include "vgpu/memory/spaces.hpp"

namespace wm::vgpu {

// The modifiers of one instruction. A decoder takes those it knows; what is left over is refused.
class Modifiers {
 public:
  void reset(const ptx::Instruction& instruction);
  bool take(std::string_view name);
  // The index of the first of `names` that is there, or -1.
  int take_one_of(std::initializer_list<std::string_view> names);
  // The same of the one that stands first in the text.
  int take_first_of(std::initializer_list<std::string_view> names);
  bool has(std::string_view name) const;
  ptx::Type take_type();  // the first type that is left; none
  std::string_view first() const { return left_.empty() ? std::string_view() : left_.front(); }
  bool empty() const { return left_.empty(); }

 private:
  std::vector<std::string_view> left_;
};

class FunctionDecoder {
 public:
  FunctionDecoder(Program& program, Function& function);
  // Decodes the whole body; refusals are added to `refused`, one a line.
  void run(std::vector<std::string>& refused);

  // ---- for the families ----
  Modifiers modifiers;
  const ptx::Instruction& instruction() const { return *instruction_; }
  std::size_t operands() const { return instruction_->operands.size(); }
  const ptx::Operand& operand(std::size_t index) const;
  void expect_operands(std::size_t least, std::size_t most) const;
  void expect_operands(std::size_t count) const { expect_operands(count, count); }
  bool in_kernel() const { return function_.entry; }
  const Chip& chip() const { return chip_; }
  Program& program() { return program_; }
  Function& function() { return function_; }
  const ptx::Function& source_function() const { return source_; }

  ptx::Type type_of(const ptx::Operand& reg) const;  // of a register; none for anything else
  u32 register_bytes(const ptx::Operand& reg) const;
  // A row with the operand's value as `type`: a register of that width, or a constant.
  Operand source(const ptx::Operand& operand, ptx::Type type);
  // The same for a width in bytes (1 to 4 and 8).
  Operand source_bits(const ptx::Operand& operand, u32 bytes);
  Operand observed(const ptx::Operand& reg) { return row_of(reg); }  // for who only looks: no instruction reads it
  Operand destination(const ptx::Operand& operand, u32 bytes);       // a register or `_`
  Operand destination(const ptx::Operand& operand, ptx::Type type) { return destination(operand, ptx::bytes_of(type)); }
  Predicate predicate(const ptx::Operand& operand);
  u32 predicate_destination(const ptx::Operand& operand);
  // {a, b, ...} as rows, or a lone register as one.
  std::vector<Operand> sources(const ptx::Operand& operand, ptx::Type type);
  std::vector<Operand> destinations(const ptx::Operand& operand, ptx::Type type);
  Address address(const ptx::Operand& operand, AddressSpace space);
  i64 constant(const ptx::Operand& operand, const char* what);  // an integer that must be known now
  Operand constant32(u32 value) { return Operand::constant(program_.constants32_.row_of(value)); }
  Operand constant64(u64 value) { return Operand::constant(program_.constants64_.row_of(value)); }
  Operand temporary(u32 bytes);
  u32 temporary_predicate() { return function_.predicates++; }

  // A new op under the instruction's guard. The reference holds until the next one.
  Op& emit(Handler handler, const Effect& effect);
  template <class Detail>
  Op& emit(Handler handler, const Effect& effect, Detail detail) {
    auto owned = std::make_shared<Detail>(std::move(detail));
    function_.details.push_back(owned);
    Op& op = emit(handler, effect);
    op.detail = owned.get();
    return op;
  }
  // The last op branches to an instruction: the op to go to is its immediate, filled in at the end.
  void aim_at(u32 instruction);
  // The same for a table of instructions, which must stay where it is.
  void aim_table(std::vector<u32>& instructions) { tables_.push_back(&instructions); }

  [[noreturn]] void refuse(const std::string& why) const;
  // After the modifiers that a family knows were taken.
  void finish_modifiers() const;

  // A variable's address: constant ones for .global, .const and a kernel's .param; relative ones for the others.
  struct Symbol {
    AddressSpace space = AddressSpace::generic;
    Address address;
    const ptx::Variable* variable = nullptr;
  };
  Symbol symbol(const std::string& name) const;

 private:
  struct Home {
    bool assigned = false;
    u32 row = 0;
  };
  Operand row_of(const ptx::Operand& reg);
  // The row of a register that the instruction reads, or writes.
  Operand read(const ptx::Operand& reg);
  Operand write(const ptx::Operand& reg);
  Predicate guard();
  void decode(u32 index);
  std::string author_line(const ptx::Place& place) const;

  Program& program_;
  Function& function_;
  const ptx::Function& source_;
  const Chip& chip_;
  const ptx::Instruction* instruction_ = nullptr;
  u32 instruction_index_ = 0;
  bool first_ = false;                     // nothing of the instruction has been emitted yet
  std::vector<Home> homes_;                // of registers
  std::vector<u32> first_op_;              // of each instruction
  std::vector<std::pair<u32, u32>> aims_;  // op, instruction
  std::vector<std::vector<u32>*> tables_;
  std::unordered_map<std::string_view, Symbol> local_symbols_;
};

// opcode -> decoder, or null. isa/table.cpp lists the families.
using DecodeFunction = void (*)(FunctionDecoder&);
DecodeFunction decoder_for(std::string_view opcode);

// The decoder of a program's functions, for Program.
void decode(Program& program, Function& function, std::vector<std::string>& refused);

}  // namespace wm::vgpu
