// Reading an expression as far as its brackets: inside parentheses it can then be nothing but an expression.
#include "ops/expression.hpp"

#include <cctype>
#include <string>

namespace wm::ops {
namespace {

// Past a literal that begins at `at` with its quote; npos where it does not end.
std::size_t end_of_literal(std::string_view text, std::size_t at) {
  const char quote = text[at];
  for (++at; at < text.size(); ++at) {
    if (text[at] == '\\')
      ++at;
    else if (text[at] == quote)
      return at + 1;
  }
  return text.npos;
}

}  // namespace

std::string_view expression_problem(std::string_view text) {
  if (text.find_first_not_of(" \t\n") == text.npos) return "it is empty";
  std::string open;  // the brackets that are to come, innermost last
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    const bool digit_separator = c == '\'' && i > 0 && std::isalnum(static_cast<unsigned char>(text[i - 1])) != 0;
    if ((c == '"' || c == '\'') && !digit_separator) {
      i = end_of_literal(text, i);
      if (i == text.npos) return "a literal does not end";
      continue;
    }
    if (c == '#') return "it has a preprocessor directive";
    if (c == '/' && i + 1 < text.size() && (text[i + 1] == '/' || text[i + 1] == '*')) return "it has a comment";
    if (c == '(') open += ')';
    if (c == '[') open += ']';
    if (c == '{') open += '}';
    if (c == ')' || c == ']' || c == '}') {
      if (open.empty() || open.back() != c) return "a bracket closes that was not opened";
      open.pop_back();
    }
    if (c == ';' && open.empty()) return "it ends with a semicolon or has several statements";
    ++i;
  }
  return open.empty() ? "" : "a bracket is not closed";
}

}  // namespace wm::ops
