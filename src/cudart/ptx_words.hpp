// Going through PTX word by word: names, strings and comments, nothing more.
#pragma once

#include <algorithm>
#include <cctype>
#include <string_view>

namespace wm::cudart {

inline bool in_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$' || c == '%'; }

// Positions after what begins at `at`.
inline std::size_t after_string(std::string_view text, std::size_t at) {
  for (++at; at < text.size() && text[at] != '"'; ++at)
    if (text[at] == '\\') ++at;
  return std::min(at + 1, text.size());
}
inline std::size_t after_comment(std::string_view text, std::size_t at) {  // a slash that begins none is one character
  if (text.substr(at, 2) == "//") return std::min(text.find('\n', at), text.size());
  if (text.substr(at, 2) == "/*") {
    const std::size_t end = text.find("*/", at + 2);
    return end == text.npos ? text.size() : end + 2;
  }
  return at + 1;
}

}  // namespace wm::cudart
