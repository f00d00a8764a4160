// Texts from files as messages show them.
#pragma once

#include <string>
#include <string_view>

namespace wm::cases {

// Control characters as \x1b, so that no file speaks to the terminal; line ends stay.
inline std::string printable(std::string_view text) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string result;
  for (const char c : text)
    if (const auto code = static_cast<unsigned char>(c); (code < ' ' && c != '\n') || c == '\x7f')
      result += {'\\', 'x', digits[code / 16], digits[code % 16]};
    else
      result += c;
  return result;
}

}  // namespace wm::cases
