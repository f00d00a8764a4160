// Evaluating constant expressions. Integer arithmetic wraps; signed with unsigned gives unsigned, as in C.
#include "vgpu/ptx/constants.hpp"

#include <bit>
#include <iterator>

#include <fmt/format.h>

namespace wm::vgpu::ptx {

namespace {

using Kind = Constant::Kind;

constexpr int deepest = 64;  // of parentheses, unary operators and conditionals: the text is not trusted
constexpr int lowest_binary = 1, multiplicative = 10;

int precedence_of(const Token& token) {
  if (token.kind != TokenKind::mark) return 0;
  struct Level {
    std::string_view mark;
    int precedence;
  };
  static constexpr Level levels[] = {{"||", 1}, {"&&", 2}, {"|", 3}, {"^", 4},  {"&", 5},  {"==", 6},
                                     {"!=", 6}, {"<", 7},  {">", 7}, {"<=", 7}, {">=", 7}, {"<<", 8},
                                     {">>", 8}, {"+", 9},  {"-", 9}, {"*", 10}, {"/", 10}, {"%", 10}};
  for (const Level& level : levels)
    if (level.mark == token.text) return level.precedence;
  return 0;
}

Constant truth(bool value) { return {Kind::signed_integer, value}; }

class Evaluator {
 public:
  explicit Evaluator(Lexer& lexer) : lexer_(lexer) {}

  Constant conditional(int depth) {
    const Constant condition = binary(lowest_binary, depth);
    if (!lexer_.peek().is('?')) return condition;
    check(depth);
    const Token mark = lexer_.take();
    const Constant yes = conditional(depth + 1);
    lexer_.expect(':', "between the branches of '?'");
    const Constant no = conditional(depth + 1);
    if (!condition.is_integer()) lexer_.fail(mark, "the condition of '?' is no integer");
    return condition.bits != 0 ? yes : no;
  }

  Constant binary(int lowest, int depth) {
    Constant left = unary(depth);
    for (;;) {
      const int precedence = precedence_of(lexer_.peek());
      if (precedence == 0 || precedence < lowest) return left;
      const Token operation = lexer_.take();
      left = apply(operation, left, binary(precedence + 1, depth));
    }
  }

 private:
  void check(int depth) const {
    if (depth >= deepest) lexer_.fail(lexer_.peek(), fmt::format("an expression nested deeper than {}", deepest));
  }

  Constant unary(int depth) {
    const Token token = lexer_.peek();
    check(depth);
    if (token.is('+')) return lexer_.take(), unary(depth + 1);
    if (token.is('-')) {
      lexer_.take();
      const Constant value = unary(depth + 1);
      switch (value.kind) {
        case Kind::single_bits: return {value.kind, value.bits ^ 0x80000000u};
        case Kind::double_bits: return {value.kind, value.bits ^ (std::uint64_t(1) << 63)};
        default: return {value.kind, 0 - value.bits};
      }
    }
    if (token.is('~') || token.is('!')) {
      lexer_.take();
      const Constant value = unary(depth + 1);
      if (!value.is_integer()) lexer_.fail(token, fmt::format("{} needs an integer", quoted(token.text)));
      return token.is('!') ? truth(value.bits == 0) : Constant{value.kind, ~value.bits};
    }
    if (token.is('(')) {
      lexer_.take();
      if (lexer_.peek().is_dotted("s64") || lexer_.peek().is_dotted("u64")) return cast(depth);
      const Constant value = conditional(depth + 1);
      lexer_.expect(')', "to close '('");
      return value;
    }
    return literal();
  }

  Constant cast(int depth) {
    const Token type = lexer_.take();
    lexer_.expect(')', "after the type of a cast");
    const Constant value = unary(depth + 1);
    if (!value.is_integer()) lexer_.fail(type, "a cast needs an integer");
    return {type.text == "s64" ? Kind::signed_integer : Kind::unsigned_integer, value.bits};
  }

  Constant literal() {
    const Token& token = lexer_.peek();
    switch (token.kind) {
      case TokenKind::integer: {
        const Kind kind = token.is_unsigned ? Kind::unsigned_integer : Kind::signed_integer;
        return {kind, lexer_.take().bits};
      }
      case TokenKind::single_bits: return {Kind::single_bits, lexer_.take().bits};
      case TokenKind::double_bits: return {Kind::double_bits, lexer_.take().bits};
      case TokenKind::word:
        if (token.text == "WARP_SZ") return lexer_.take(), Constant{Kind::signed_integer, 32};
        [[fallthrough]];
      default: lexer_.fail_expected("a constant");
    }
  }

  Constant apply(const Token& operation, const Constant& a, const Constant& b) const {
    if (!a.is_integer() || !b.is_integer()) return apply_real(operation, a, b);
    const bool is_unsigned = a.kind == Kind::unsigned_integer || b.kind == Kind::unsigned_integer;
    const Kind kind = is_unsigned ? Kind::unsigned_integer : Kind::signed_integer;
    const std::uint64_t x = a.bits, y = b.bits;
    const auto sx = std::int64_t(x), sy = std::int64_t(y);
    const bool less = is_unsigned ? x < y : sx < sy;
    const std::string_view mark = operation.text;
    if (mark == "+") return {kind, x + y};
    if (mark == "-") return {kind, x - y};
    if (mark == "*") return {kind, x * y};
    if (mark == "/" || mark == "%") {
      if (y == 0) lexer_.fail(operation, "division by zero in a constant expression");
      const bool quotient = mark == "/";
      if (is_unsigned) return {kind, quotient ? x / y : x % y};
      if (sy == -1) return {kind, quotient ? 0 - x : 0};  // the one signed quotient that overflows, wrapped
      return {kind, std::uint64_t(quotient ? sx / sy : sx % sy)};
    }
    // A shift takes its type from the left operand alone, and an amount beyond the width empties the value.
    if (mark == "<<") return {a.kind, y > 63 ? 0 : x << y};
    if (mark == ">>") {
      if (a.kind == Kind::unsigned_integer) return {a.kind, y > 63 ? 0 : x >> y};
      return {a.kind, std::uint64_t(sx >> (y > 63 ? 63 : y))};
    }
    if (mark == "&") return {kind, x & y};
    if (mark == "|") return {kind, x | y};
    if (mark == "^") return {kind, x ^ y};
    if (mark == "&&") return truth(x != 0 && y != 0);
    if (mark == "||") return truth(x != 0 || y != 0);
    if (mark == "==") return truth(x == y);
    if (mark == "!=") return truth(x != y);
    if (mark == "<") return truth(less);
    if (mark == "<=") return truth(less || x == y);
    if (mark == ">") return truth(!less && x != y);
    return truth(!less);
  }

  Constant apply_real(const Token& operation, const Constant& a, const Constant& b) const {
    const double x = a.real(), y = b.real();
    const auto number = [](double value) { return Constant{Kind::double_bits, std::bit_cast<std::uint64_t>(value)}; };
    const std::string_view mark = operation.text;
    if (a.is_integer() != b.is_integer())
      lexer_.fail(operation, "a constant expression mixes integers and floating-point numbers");
    if (mark == "+") return number(x + y);
    if (mark == "-") return number(x - y);
    if (mark == "*") return number(x * y);
    if (mark == "/") {
      if (y == 0) lexer_.fail(operation, "division by zero in a constant expression");
      return number(x / y);
    }
    if (mark == "==") return truth(x == y);
    if (mark == "!=") return truth(x != y);
    if (mark == "<") return truth(x < y);
    if (mark == "<=") return truth(x <= y);
    if (mark == ">") return truth(x > y);
    if (mark == ">=") return truth(x >= y);
    lexer_.fail(operation, fmt::format("{} needs integers", quoted(mark)));
  }

  Lexer& lexer_;
};

std::int64_t integer_of(Lexer& lexer, const Token& at, const Constant& value) {
  if (!value.is_integer()) lexer.fail(at, "expected an integer, found a floating-point number");
  return std::int64_t(value.bits);
}

}  // namespace

double Constant::real() const {
  switch (kind) {
    case Kind::signed_integer: return double(std::int64_t(bits));
    case Kind::unsigned_integer: return double(bits);
    case Kind::single_bits: return double(std::bit_cast<float>(std::uint32_t(bits)));
    case Kind::double_bits: return std::bit_cast<double>(bits);
  }
  return 0;
}

Constant read_constant(Lexer& lexer) { return Evaluator(lexer).conditional(0); }

std::int64_t read_integer(Lexer& lexer) {
  const Token at = lexer.peek();
  return integer_of(lexer, at, read_constant(lexer));
}

std::int64_t read_integer_term(Lexer& lexer) {
  const Token at = lexer.peek();
  return integer_of(lexer, at, Evaluator(lexer).binary(multiplicative, 0));
}

std::int64_t read_offset(Lexer& lexer) {
  std::uint64_t offset = 0;
  for (;;) {
    if (lexer.accept('+'))
      offset += std::uint64_t(read_integer_term(lexer));
    else if (lexer.accept('-'))
      offset -= std::uint64_t(read_integer_term(lexer));
    else
      return std::int64_t(offset);
  }
}

}  // namespace wm::vgpu::ptx
