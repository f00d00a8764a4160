// Variable declarations: qualifiers, array sizes, initialisers.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "vgpu/ptx/lexer.hpp"
#include "vgpu/ptx/module.hpp"

namespace wm::vgpu::ptx {

// What stands before the first name of a declaration: `.align 16 .v4 .f32`.
struct Qualifiers {
  Type type = Type::none;
  std::uint32_t width = 1;      // of .v2, .v4, .v8
  std::uint32_t alignment = 0;  // 0: the type's own
  bool pointer = false;
};

// The space that ".global" and so on name; none for every other word.
Space space_named(std::string_view directive);

Qualifiers read_qualifiers(Lexer& lexer);
// `(.managed)` and the like, after '.attribute': they change nothing here.
void skip_attribute(Lexer& lexer);

class VariableReader {
 public:
  explicit VariableReader(Lexer& lexer);
  // A name, the array sizes and an initialiser if there is one.
  Variable read(const Qualifiers& qualifiers, Space space, bool external);
  // A parameter: no initialiser.
  Variable read_parameter(const Qualifiers& qualifiers);
  // Every variable and function that an initial value names.
  const std::vector<Token>& addressed() const { return addressed_; }

 private:
  Variable read_declarator(const Qualifiers& qualifiers, Space space);
  void read_initial(Variable& variable);
  void read_level(Variable& variable, std::size_t level, std::uint64_t begin);
  void read_element(Variable& variable, std::uint64_t offset);
  void read_address(Variable& variable, Relocation relocation, bool masked);
  void store(Variable& variable, std::uint64_t offset, std::uint32_t bytes, std::uint64_t value);

  Lexer& lexer_;
  std::uint64_t budget_;  // bytes of initial values that this text may still ask for
  std::vector<Token> addressed_;
  // The declaration being read:
  Token name_;
  std::uint32_t element_ = 0;           // bytes
  bool open_ = false;                   // the first dimension is []
  std::vector<std::uint64_t> strides_;  // bytes that one index of each dimension spans, outermost first; [0] spans all
};

}  // namespace wm::vgpu::ptx
