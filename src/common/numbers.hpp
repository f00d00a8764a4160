// Numbers in text.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>

namespace wm {

// The number that all of `text` is; nothing where it is none, or does not fit. No blanks, no plus sign.
template <class Number>
std::optional<Number> number_from(std::string_view text) {
  Number value{};
  const char* const end = text.data() + text.size();
  const auto [stop, status] = std::from_chars(text.data(), end, value);
  return status == std::errc() && stop == end ? std::optional(value) : std::nullopt;
}

}  // namespace wm
