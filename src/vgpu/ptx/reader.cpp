// A whole module: its head, its variables, its functions.
#include <string>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "common/numbers.hpp"
#include "vgpu/ptx/body.hpp"
#include "vgpu/ptx/lexer.hpp"
#include "vgpu/ptx/lines.hpp"
#include "vgpu/ptx/module.hpp"
#include "vgpu/ptx/variables.hpp"
#include "warpmill/error.hpp"

namespace wm::vgpu::ptx {

namespace {

constexpr int newest_major = 9;

class ModuleReader {
 public:
  ModuleReader(std::string_view text, std::string_view name)
      : lexer_(text, name), lines_(lexer_, module_), variables_(lexer_) {
    module_.name = name;
  }

  Module read() {
    if (!lexer_.accept_dotted("version")) lexer_.fail_expected("'.version' at the start of a PTX module");
    read_version();
    while (lexer_.peek().kind != TokenKind::end) read_directive();
    if (!has_target_) lexer_.fail_expected("'.target'");
    check_relocations();
    lines_.finish();
    return std::move(module_);
  }

 private:
  struct Symbol {
    bool function = false;
    std::size_t index = 0;
  };

  void read_version() {
    const Token at = lexer_.peek();  // "9.0" reads as a decimal number
    const std::size_t dot = at.text.find('.');
    const auto number = [&](std::string_view digits) {
      const auto value = number_from<std::uint8_t>(digits);
      if (at.kind != TokenKind::double_bits || digits.size() > 2 || !value)
        lexer_.fail_expected("a version such as 9.0");
      return int{*value};
    };
    module_.version_major = number(at.text.substr(0, dot));
    module_.version_minor = number(at.text.substr(dot + 1));
    if (module_.version_major > newest_major)
      lexer_.fail(at, fmt::format("PTX {} is newer than this reader, which knows versions up to {}.x: compile with an "
                                  "older CUDA toolkit",
                                  at.text, newest_major));
    lexer_.take();
  }

  void read_directive() {
    if (lexer_.accept(';')) return;
    if (lexer_.peek().kind != TokenKind::dotted) lexer_.fail_expected("a directive");
    const Token first = lexer_.take();
    const std::string_view word = first.text;
    if (word == "target") return read_target();
    if (word == "version") return read_version();
    if (word == "address_size") return read_address_size();
    if (word == "file") return lines_.read_file();
    if (word == "section") return lines_.read_section();
    if (word == "loc") return lines_.read_location();
    if (word == "pragma") return skip_pragma();
    if (word == "alias") lexer_.fail(first, "'.alias' is not supported: call the aliased function by its own name");
    read_definition(first);
  }

  void read_target() {
    do {
      const Token target = lexer_.expect_word("a target such as sm_90a");
      if (!target.text.starts_with("sm_") || has_target_) continue;  // texmode_unified, debug, map_f64_to_f32
      try {
        module_.target = Architecture::parse(target.text);
      } catch (const Error&) {
        lexer_.fail(target, fmt::format("expected a target such as sm_90a, found {}", quoted(target.text)));
      }
      has_target_ = true;
    } while (lexer_.accept(','));
  }

  void read_address_size() {
    const Token at = lexer_.peek();
    if (lexer_.expect_number("an address size") != 64)
      lexer_.fail(at, "only PTX with 64-bit addresses is supported: compile with -m64");
  }

  void skip_pragma() {
    if (lexer_.peek().kind != TokenKind::string) lexer_.fail_expected("a string after '.pragma'");
    lexer_.take();
    lexer_.expect(';', "after '.pragma'");
  }

  // [.extern | .visible | .weak | .common] then a function or a variable; `word` has been taken.
  void read_definition(Token word) {
    if (!has_target_) lexer_.fail(word, "expected '.target' before the first function or variable");
    bool external = false;
    for (;;) {
      if (word.text == "extern")
        external = true;
      else if (word.text != "visible" && word.text != "weak" && word.text != "common")
        break;
      if (lexer_.peek().kind != TokenKind::dotted) lexer_.fail_expected("'.entry', '.func' or a variable");
      word = lexer_.take();
    }
    if (word.text == "entry" || word.text == "func") return read_function(word.text == "entry");
    const Space space = space_named(word.text);
    if (space == Space::none || space == Space::param || space == Space::local)
      lexer_.fail(word, fmt::format("the directive {} is not supported outside functions", describe(word)));
    const Qualifiers qualifiers = read_qualifiers(lexer_);
    do {
      const Token name = lexer_.peek();
      add_variable(name, variables_.read(qualifiers, space, external));
    } while (lexer_.accept(','));
    lexer_.expect(';', "after a declaration");
  }

  void add_variable(const Token& name, Variable variable) {
    const auto [entry, fresh] = symbols_.try_emplace(name.text, Symbol{false, module_.variables.size()});
    if (fresh) {
      module_.variables.push_back(std::move(variable));
      return;
    }
    const bool known = !entry->second.function;
    if (known && variable.external) return;
    if (!known || !module_.variables[entry->second.index].external)
      lexer_.fail(name, fmt::format("{} is already declared", quoted(name.text)));
    module_.variables[entry->second.index] = std::move(variable);
  }

  // One of a function's lists of parameters. A parameter is a .param variable or, for device functions, a register.
  void read_parameters(BodyReader& body, std::vector<Variable>& parameters) {
    lexer_.expect('(', "before parameters");
    if (lexer_.accept(')')) return;
    do {
      const bool in_register = lexer_.accept_dotted("reg");
      if (!in_register && !lexer_.accept_dotted("param")) lexer_.fail_expected("'.param'");
      const Qualifiers qualifiers = read_qualifiers(lexer_);
      const Token name = lexer_.peek();
      Variable& parameter = parameters.emplace_back();
      if (in_register) {
        lexer_.expect_word("a register's name");
        parameter.name = name.text;
        parameter.type = qualifiers.type;
        parameter.bytes = bytes_of(qualifiers.type);
        parameter.place.ptx_line = name.line;
        body.declare_register_parameter(name, qualifiers.type, parameter);
      } else {
        parameter = variables_.read_parameter(qualifiers);
        body.declare_parameter(name, parameter);
      }
    } while (lexer_.accept(','));
    lexer_.expect(')', "after parameters");
  }

  void read_function(bool entry) {
    Function function;
    function.entry = entry;
    const auto declared = [this](std::string_view name) { return symbols_.contains(name); };
    const Surroundings surroundings{lexer_, lines_, variables_, declared};
    lines_.begin_function();
    lexer_.take_names();
    BodyReader body(surroundings, function);
    if (lexer_.accept_dotted("attribute")) skip_attribute(lexer_);
    if (!entry && lexer_.peek().is('(')) read_parameters(body, function.results);
    const Token name = lexer_.expect_word("a function's name");
    function.name = name.text;
    function.place.ptx_line = name.line;
    if (lexer_.peek().is('(')) read_parameters(body, function.parameters);
    read_function_directives(function);
    function.declaration = !lexer_.peek().is('{');

    const auto [symbol, fresh] = symbols_.try_emplace(name.text, Symbol{true, module_.functions.size()});
    if (!fresh && !symbol->second.function)
      lexer_.fail(name, fmt::format("{} is already declared as a variable", quoted(name.text)));
    const std::size_t index = symbol->second.index;
    if (fresh) module_.functions.emplace_back().declaration = true;
    if (!fresh && !function.declaration && !module_.functions[index].declaration)
      lexer_.fail(name, fmt::format("{} already has a body", quoted(name.text)));
    if (function.declaration) {
      lexer_.expect(';', "or a body after a function's head");
    } else {
      lexer_.take();
      body.read();
      lexer_.accept(';');
    }
    if (fresh || !function.declaration) module_.functions[index] = std::move(function);
  }

  std::vector<std::uint32_t> read_extent() {
    std::vector<std::uint32_t> extent;
    do {
      const Token at = lexer_.peek();
      extent.push_back(lexer_.expect_number("a size"));
      if (extent.back() == 0 || extent.size() > 3) lexer_.fail(at, "expected one to three sizes of at least 1");
    } while (lexer_.accept(','));
    extent.resize(3, 1);
    return extent;
  }

  void read_function_directives(Function& function) {
    while (lexer_.peek().kind == TokenKind::dotted) {
      const Token directive = lexer_.take();
      const std::string_view word = directive.text;
      if (word == "maxntid")
        function.max_threads = read_extent();
      else if (word == "reqntid")
        function.required_threads = read_extent();
      else if (word == "reqnctapercluster")
        function.required_cluster = read_extent();
      else if (word == "minnctapersm")
        function.min_blocks = lexer_.expect_number("a number of blocks");
      else if (word == "maxnctapersm" || word == "abi_preserve" || word == "abi_preserve_control")
        lexer_.expect_number("a number");
      else if (word == "maxnreg")
        function.max_registers = lexer_.expect_number("a number of registers");
      else if (word == "maxclusterrank")
        function.max_cluster = lexer_.expect_number("a number of blocks");
      else if (word == "explicitcluster")
        function.explicit_cluster = true;
      else if (word == "blocksareclusters")
        function.blocks_are_clusters = true;
      else if (word == "pragma")
        skip_pragma();
      else if (word != "noreturn")
        lexer_.fail(directive,
                    fmt::format("the directive {} is not supported at a function's head", describe(directive)));
    }
  }

  // An initial value may name a variable or function that comes later.
  void check_relocations() {
    for (const Token& symbol : variables_.addressed())
      if (!symbols_.contains(symbol.text))
        lexer_.fail(symbol, fmt::format("{} is no variable or function of this module", quoted(symbol.text)));
  }

  Module module_;
  Lexer lexer_;
  Lines lines_;
  VariableReader variables_;
  bool has_target_ = false;
  std::unordered_map<std::string_view, Symbol> symbols_;  // of the module's scope
};

}  // namespace

Module read(std::string_view text, std::string_view name) { return ModuleReader(text, name).read(); }

}  // namespace wm::vgpu::ptx
