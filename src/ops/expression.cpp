// Reading an expression as far as its brackets: inside parentheses it can then be nothing but an expression.
#include "ops/expression.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

#include <fmt/format.h>

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

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// Calls visit(begin, end) for each literal, name and number, and for every other character.
template <class Visit>
void each_token(std::string_view text, Visit visit) {
  for (std::size_t i = 0, end; i < text.size(); i = end) {
    end = i + 1;
    if (text[i] == '"' || text[i] == '\'')
      end = std::min(end_of_literal(text, i), text.size());
    else if (is_word(text[i]))
      while (end < text.size() &&
             (is_word(text[end]) || (text[end] == '\'' && end + 1 < text.size() && is_word(text[end + 1]))))
        ++end;
    visit(i, end);
  }
}

// What a name does, where it does something; nullptr where it does not.
const char* effect_of(std::string_view name) {
  constexpr std::array prefixes{"atomic", "__sync", "__st", "__thread", "__nano", "__barrier", "surf", "asm", "__asm"};
  constexpr std::array names{"printf", "assert", "__trap", "__brkpt", "malloc", "free",   "memcpy",        "memset",
                             "new",    "delete", "throw",  "goto",    "return", "__exit", "__prof_trigger"};
  constexpr std::array casts{"const_cast", "reinterpret_cast"};
  // Every thread that asks must get the same answer: blocks agree by it on what each of them does.
  constexpr std::array places{"threadIdx", "blockIdx", "clock", "clock64", "globaltimer"};
  constexpr std::array collectives{"__clock", "__globaltimer", "__shfl",  "__ballot", "__any",
                                   "__all",   "__activemask",  "__match", "__reduce"};
  const auto is = [&](const char* word) { return name == word; };
  if (std::any_of(casts.begin(), casts.end(), is)) return "casts what is only to be read";
  const auto begins = [&](const char* prefix) { return name.starts_with(prefix); };
  if (std::any_of(names.begin(), names.end(), is) || std::any_of(prefixes.begin(), prefixes.end(), begins))
    return "does more than compute a value";
  if (std::any_of(places.begin(), places.end(), is) || std::any_of(collectives.begin(), collectives.end(), begins))
    return "depends on who asks, or when";
  return nullptr;
}

}  // namespace

std::string side_effect(std::string_view text) {
  std::string found;
  std::size_t skip_to = 0;
  const auto say = [&](std::size_t at, std::string_view what) {
    if (found.empty()) found = fmt::format("column {}: {}", at + 1, what);
  };
  each_token(text, [&](std::size_t i, std::size_t end) {
    if (i < skip_to) return;
    const char c = text[i], next = i + 1 < text.size() ? text[i + 1] : ' ';
    if (is_word(c)) {
      const std::string_view name = text.substr(i, end - i);
      if (const char* const effect = effect_of(name)) say(i, fmt::format("'{}' {}", name, effect));
    } else if ((c == '=' || c == '<' || c == '>' || c == '!') && next == '=') {
      skip_to = i + 2;
    } else if (c == '=') {
      say(i, "it assigns");
    } else if ((c == '+' || c == '-') && next == c) {
      say(i, fmt::format("'{}{}' changes what it is applied to", c, c));
    } else if (c == '{') {
      say(i, "it has a block of statements");
    } else if (c == ':' && next == ':') {
      say(i, "'::' leads to what is not the caller's");
    } else if (c == '*' && text.find_first_not_of(" \t\n", i + 1) != text.npos &&
               text[text.find_first_not_of(" \t\n", i + 1)] == ')') {
      say(i, "it casts to a pointer");
    }
  });
  return found;
}

std::string by_columns(std::string_view text, std::string_view file) {
  std::string lines = fmt::format("#line 1 \"{}\"\n", file);
  each_token(text, [&](std::size_t i, std::size_t end) {
    const std::size_t behind = text.find_first_not_of(" \t\n", end);
    if (i > 0 && is_word(text[i]) && behind != text.npos && text[behind] == '[')
      lines += fmt::format("\n#line {} \"{}\"\n", i + 1, file);
    for (const char c : text.substr(i, end - i)) lines += c == '\n' ? ' ' : c;
  });
  return lines + '\n';
}

std::string error_by_column(std::string_view log, std::string_view file) {
  // "score(9): error: identifier "slop" is undefined\n  slop[q] * 2\n  ^"
  const std::string begin = fmt::format("{}(", file);
  for (std::size_t at = log.find(begin); at != log.npos; at = log.find(begin, at + 1)) {
    if (at > 0 && log[at - 1] != '\n') continue;
    std::size_t column = 0;
    const char* const from = log.data() + at + begin.size();
    const auto [rest, problem] = std::from_chars(from, log.data() + log.size(), column);
    constexpr std::string_view mark = "): error: ";
    const std::string_view after(rest, static_cast<std::size_t>(log.data() + log.size() - rest));
    if (problem != std::errc{} || !after.starts_with(mark)) continue;
    const std::size_t end = std::min(after.find('\n'), after.size());
    const std::string_view words = after.substr(mark.size(), end - mark.size());
    const std::size_t caret = after.find('^', end), line = caret == after.npos ? caret : after.rfind('\n', caret);
    constexpr std::size_t indent = 2;
    if (line != after.npos && caret > line + indent) column += caret - line - 1 - indent;
    return fmt::format("column {}: {}", column, words);
  }
  return "";
}

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
