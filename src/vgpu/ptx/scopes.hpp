// The names of one function: nested scopes, each with its own registers, variables and labels.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "vgpu/ptx/lexer.hpp"
#include "vgpu/ptx/module.hpp"

namespace wm::vgpu::ptx {

struct NamedThing {
  enum class Kind : std::uint8_t { reg, variable, label, table, prototype };
  Kind kind = Kind::reg;
  std::uint32_t index = 0;    // reg: the first register; label: instruction; table: branch table
  std::uint32_t width = 1;    // reg: 2, 4, 8 for a vector
  std::string variable = {};  // variable: its unique name
};

class Scopes {
 public:
  Scopes(Lexer& lexer, Function& function) : lexer_(lexer), function_(function) { open(); }

  void open();
  void close();  // labels of this scope find their users; what is not found is left to the scope outside
  std::size_t depth() const { return scopes_.size(); }

  void declare_register(const Token& name, Type type, std::uint32_t width);
  // `%r<100>`: registers come into being when they are first named.
  void declare_registers(const Token& prefix, Type type, std::uint32_t width, std::uint32_t count);
  // Gives the variable's unique name. `taken`: the module uses the plain name for something else.
  std::string declare_variable(const Token& name, bool taken);
  void declare_label(const Token& name);
  void declare_table(const Token& name, std::uint32_t table);
  void declare_prototype(const Token& name);

  // Null where no scope knows the name (yet).
  const NamedThing* find(std::string_view name);

  // A label may follow its use: the operand or table slot is filled when it is known.
  void use_in_operand(const Token& name, std::uint32_t instruction, std::uint32_t operand);
  void use_in_table(const Token& name, std::uint32_t table, std::uint32_t slot);

 private:
  struct Family {
    Type type = Type::none;
    std::uint32_t width = 1, count = 0;
  };
  struct Use {
    Token name;
    bool in_table = false;
    std::uint32_t holder = 0, slot = 0;  // table and target, or instruction and operand
  };
  struct Scope {
    std::unordered_map<std::string_view, NamedThing> names;
    std::unordered_map<std::string_view, Family> families;
    std::vector<Use> uses;
  };
  void add(const Token& name, NamedThing thing);
  std::uint32_t add_registers(std::string_view name, Type type, std::uint32_t width);
  NamedThing* find_in_families(Scope& scope, std::string_view name);
  void fill(const Use& use, const NamedThing& target);

  Lexer& lexer_;
  Function& function_;
  std::vector<Scope> scopes_;
  std::unordered_map<std::string_view, std::uint32_t> copies_;  // how many variables have had a name
};

}  // namespace wm::vgpu::ptx
