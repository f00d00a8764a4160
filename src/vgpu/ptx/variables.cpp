// Reading variable declarations. Sizes come from untrusted text: each product is checked, and memory is taken only for
// initial values that the text spells out.
#include "vgpu/ptx/variables.hpp"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "vgpu/ptx/constants.hpp"

namespace wm::vgpu::ptx {

namespace {

constexpr std::uint64_t largest_variable = std::uint64_t(1) << 40;
constexpr std::uint32_t largest_alignment = 1u << 20;
constexpr std::size_t most_dimensions = 16;

std::uint32_t read_alignment(Lexer& lexer) {
  const Token at = lexer.peek();
  const std::uint32_t alignment = lexer.expect_number("an alignment");
  if (!std::has_single_bit(alignment) || alignment > largest_alignment)
    lexer.fail(at, fmt::format("an alignment is a power of two up to {}, not {}", largest_alignment, alignment));
  return alignment;
}

bool is_opaque(std::string_view type) { return type == "texref" || type == "samplerref" || type == "surfref"; }

}  // namespace

Space space_named(std::string_view directive) {
  if (directive == "global") return Space::global;
  if (directive == "shared") return Space::shared;
  if (directive == "local") return Space::local;
  if (directive == "const") return Space::constant;
  if (directive == "param") return Space::param;
  return Space::none;
}

void skip_attribute(Lexer& lexer) {
  lexer.expect('(', "after '.attribute'");
  for (int depth = 1; depth > 0;) {
    if (lexer.peek().kind == TokenKind::end) lexer.fail_expected("')' to close '.attribute('");
    const Token token = lexer.take();
    depth += token.is('(') - token.is(')');
  }
}

Qualifiers read_qualifiers(Lexer& lexer) {
  Qualifiers result;
  while (lexer.peek().kind == TokenKind::dotted) {
    const Token token = lexer.take();
    if (token.text == "align") {
      const std::uint32_t alignment = read_alignment(lexer);
      if (!result.pointer) result.alignment = alignment;  // after .ptr it is what the pointer points to
    } else if (token.text == "ptr") {
      result.pointer = true;
    } else if (token.text == "attribute") {
      skip_attribute(lexer);
    } else if (token.text == "v2" || token.text == "v4" || token.text == "v8") {
      result.width = std::uint32_t(token.text[1] - '0');
    } else if (result.pointer && space_named(token.text) != Space::none) {
      continue;
    } else if (const Type type = type_named(token.text); type != Type::none && result.type == Type::none) {
      result.type = type;
    } else if (is_opaque(token.text)) {
      lexer.fail(token, fmt::format("'.{}' variables are not supported: pass the texture or surface as a 64-bit handle",
                                    token.text));
    } else {
      lexer.fail(token, fmt::format("expected a type or a name, found {}", describe(token)));
    }
  }
  if (result.type == Type::none) lexer.fail_expected("a type");
  return result;
}

VariableReader::VariableReader(Lexer& lexer) : lexer_(lexer), budget_(8 * lexer.size() + (1u << 20)) {}

Variable VariableReader::read_declarator(const Qualifiers& qualifiers, Space space) {
  name_ = lexer_.expect_word("a variable's name");
  if (bytes_of(qualifiers.type) == 0)
    lexer_.fail(name_, fmt::format("{} is a predicate: these live in registers only", quoted(name_.text)));
  Variable variable;
  variable.name = name_.text;
  variable.space = space;
  variable.type = qualifiers.type;
  variable.pointer = qualifiers.pointer;
  variable.place.ptx_line = name_.line;
  element_ = bytes_of(qualifiers.type);
  const std::uint32_t unit = element_ * qualifiers.width;
  variable.alignment = qualifiers.alignment != 0 ? qualifiers.alignment : unit;
  if (lexer_.peek().is('<')) lexer_.fail(lexer_.peek(), "only registers can be declared as a numbered family");

  std::vector<std::uint64_t> sizes;
  open_ = false;
  while (lexer_.peek().is('[')) {
    const Token bracket = lexer_.take();
    if (sizes.size() == most_dimensions)
      lexer_.fail(bracket, fmt::format("an array of more than {} dimensions", most_dimensions));
    if (lexer_.peek().is(']')) {
      if (!sizes.empty()) lexer_.fail_expected("a size: only the first dimension may be left out");
      open_ = true;
      sizes.push_back(0);
    } else {
      const Token at = lexer_.peek();
      const std::int64_t size = read_integer(lexer_);
      if (size < 0) lexer_.fail(at, fmt::format("an array of {} elements", size));
      sizes.push_back(std::uint64_t(size));
    }
    lexer_.expect(']', "after an array's size");
  }
  if (qualifiers.width > 1) sizes.push_back(qualifiers.width);

  strides_.assign(sizes.size() + 1, element_);
  for (std::size_t level = sizes.size(); level-- > 0;)
    if (__builtin_mul_overflow(sizes[level], strides_[level + 1], &strides_[level]) ||
        strides_[level] > largest_variable)
      lexer_.fail(name_, fmt::format("{} is larger than a tebibyte", quoted(name_.text)));
  variable.bytes = strides_[0];
  return variable;
}

Variable VariableReader::read(const Qualifiers& qualifiers, Space space, bool external) {
  Variable variable = read_declarator(qualifiers, space);
  variable.external = external;
  const bool initialised = lexer_.peek().is('=');
  if (initialised) {
    if (external || (space != Space::global && space != Space::constant))
      lexer_.fail(lexer_.peek(), "only .global and .const variables that are defined here have initial values");
    lexer_.take();
    read_initial(variable);
  } else if (open_) {
    if (!external) lexer_.fail(name_, fmt::format("{} has neither a size nor initial values", quoted(name_.text)));
    variable.dynamic = space == Space::shared;
  }
  return variable;
}

Variable VariableReader::read_parameter(const Qualifiers& qualifiers) {
  return read_declarator(qualifiers, Space::param);
}

void VariableReader::read_initial(Variable& variable) {
  if (strides_.size() == 1)
    read_element(variable, 0);
  else
    read_level(variable, 0, 0);
  if (open_) {
    const std::uint64_t row = strides_[1];
    if (row != 0) variable.bytes = (variable.bytes + row - 1) / row * row;
  }
}

// The braces of one dimension, whose first byte is `begin`.
void VariableReader::read_level(Variable& variable, std::size_t level, std::uint64_t begin) {
  const std::uint64_t step = strides_[level + 1];
  const bool open = open_ && level == 0;
  lexer_.expect('{', "before the initial values of an array");
  std::uint64_t at = begin;
  while (!lexer_.peek().is('}')) {
    if (!open && at - begin >= strides_[level])
      lexer_.fail(lexer_.peek(), fmt::format("more initial values than {} has elements", quoted(name_.text)));
    if (lexer_.peek().is('{') && level + 2 < strides_.size()) {
      if (step != 0 && (at - begin) % step != 0) lexer_.fail_expected("a value: the row before is not complete");
      read_level(variable, level + 1, at);
      at += step;
    } else {
      read_element(variable, at);  // braces of inner dimensions may be left out
      at += element_;
    }
    if (at > largest_variable) lexer_.fail(name_, fmt::format("{} is larger than a tebibyte", quoted(name_.text)));
    if (open) variable.bytes = std::max(variable.bytes, at - begin);
    if (!lexer_.accept(',')) break;
  }
  lexer_.expect('}', "after the initial values of an array");
}

void VariableReader::read_element(Variable& variable, std::uint64_t offset) {
  const Token at = lexer_.peek();
  Relocation relocation;
  relocation.offset = offset;
  relocation.bytes = element_;
  if (at.kind == TokenKind::word && at.text != "WARP_SZ") return read_address(variable, relocation, false);
  if (at.kind == TokenKind::integer && lexer_.character_after() == '(') {
    // The mask operator: one byte of an address.
    lexer_.take();
    const int shift = at.bits == 0 ? 0 : std::countr_zero(at.bits) / 8 * 8;
    if (at.bits >> shift != 0xff) lexer_.fail(at, "a mask selects one byte of an address: 0xFF, 0xFF00, 0xFF0000, ...");
    relocation.bytes = 1;
    relocation.shift = std::uint32_t(shift);
    lexer_.expect('(', "after a mask");
    read_address(variable, relocation, true);
    return lexer_.expect(')', "after the address under a mask");
  }
  const Constant value = read_constant(lexer_);
  const Type type = variable.type;
  if (type == Type::f32) {
    if (value.kind == Constant::Kind::single_bits) return store(variable, offset, 4, value.bits);
    return store(variable, offset, 4, std::bit_cast<std::uint32_t>(float(value.real())));
  }
  if (type == Type::f64) {
    if (value.kind == Constant::Kind::double_bits) return store(variable, offset, 8, value.bits);
    return store(variable, offset, 8, std::bit_cast<std::uint64_t>(value.real()));
  }
  const bool fits = value.is_integer() || (type == Type::b32 && value.kind == Constant::Kind::single_bits) ||
                    (type == Type::b64 && value.kind == Constant::Kind::double_bits);
  if (!fits) lexer_.fail(at, fmt::format("a floating-point number in a variable of type .{}", name_of(type)));
  store(variable, offset, element_, value.bits);
}

// symbol, symbol + 4, generic(symbol) + 4
void VariableReader::read_address(Variable& variable, Relocation relocation, bool masked) {
  Token symbol = lexer_.expect_word("a variable or function");
  if (symbol.text == "generic" && lexer_.accept('(')) {
    relocation.generic = true;
    symbol = lexer_.expect_word("a variable");
    relocation.addend = read_offset(lexer_);
    lexer_.expect(')', "after 'generic('");
  }
  relocation.addend = std::int64_t(std::uint64_t(relocation.addend) + std::uint64_t(read_offset(lexer_)));
  if (element_ != relocation.bytes || (element_ == 1 && !masked) || element_ == 2 || element_ > 8)
    lexer_.fail(symbol, fmt::format("an address does not fit type .{}", name_of(variable.type)));
  relocation.symbol = symbol.text;
  addressed_.push_back(symbol);
  store(variable, relocation.offset, relocation.bytes, 0);
  variable.relocations.push_back(std::move(relocation));
}

void VariableReader::store(Variable& variable, std::uint64_t offset, std::uint32_t bytes, std::uint64_t value) {
  const std::uint64_t end = offset + element_;
  if (end > variable.initial.size()) {
    const std::uint64_t growth = end - variable.initial.size();
    if (growth > budget_)
      lexer_.fail(name_, fmt::format("the initial values of {} leave too large gaps", quoted(name_.text)));
    budget_ -= growth;
    variable.initial.resize(end);
  }
  for (std::uint32_t byte = 0; byte < bytes && byte < 8; ++byte)
    variable.initial[offset + byte] = std::uint8_t(value >> (8 * byte));
}

}  // namespace wm::vgpu::ptx
