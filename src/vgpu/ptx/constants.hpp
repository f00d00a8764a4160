// PTX constant expressions: C's operators on 64-bit integers, a few of them on floating-point numbers.
#pragma once

#include <cstdint>

#include "vgpu/ptx/lexer.hpp"

namespace wm::vgpu::ptx {

struct Constant {
  enum class Kind : std::uint8_t { signed_integer, unsigned_integer, single_bits, double_bits };
  Kind kind = Kind::signed_integer;
  std::uint64_t bits = 0;

  bool is_integer() const { return kind == Kind::signed_integer || kind == Kind::unsigned_integer; }
  double real() const;  // the value, whatever the kind
};

Constant read_constant(Lexer& lexer);
// The same, refused where it is no integer.
std::int64_t read_integer(Lexer& lexer);
// An integer without + and - outside parentheses: an offset's term, as in [base + 4 * 2 - 8].
std::int64_t read_integer_term(Lexer& lexer);
// Every `+ term` and `- term` that follows, added up with wrap-around.
std::int64_t read_offset(Lexer& lexer);

}  // namespace wm::vgpu::ptx
