// Texts from files as messages show them.
#pragma once

#include <string>
#include <string_view>

#include <fmt/format.h>

namespace wm::cases {

// Control characters as \x1b, so that no file speaks to the terminal; line ends stay.
inline std::string printable(std::string_view text) {
  std::string result;
  for (const char c : text)
    if ((static_cast<unsigned char>(c) < ' ' && c != '\n') || c == '\x7f')
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    else
      result += c;
  return result;
}

}  // namespace wm::cases
