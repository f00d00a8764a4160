// Words and numbers of plans in text.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "common/numbers.hpp"

namespace wm::plan {

inline std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  while (true) {
    const std::size_t begin = text.find_first_not_of(' ');
    if (begin == text.npos) return words;
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    text.remove_prefix(end);
  }
}

// A whole number above 0.
inline std::optional<int> natural(std::string_view text) {
  const auto value = number_from<int>(text);
  return value && *value > 0 ? value : std::nullopt;
}

struct Pair {
  int first, second;
};
// "128x256".
inline std::optional<Pair> pair(std::string_view text) {
  const std::size_t x = text.find('x');
  if (x == std::string_view::npos) return std::nullopt;
  const auto first = natural(text.substr(0, x)), second = natural(text.substr(x + 1));
  return first && second ? std::optional(Pair{*first, *second}) : std::nullopt;
}

// "4x16x4096x128": so many sizes, none of them negative.
template <std::size_t count>
std::optional<std::array<std::int64_t, count>> sizes_from(std::string_view text) {
  std::array<std::int64_t, count> sizes{};
  for (std::size_t i = 0; i < count; ++i) {
    const bool last = i + 1 == count;
    const std::size_t end = last ? text.size() : text.find('x');
    const auto size = number_from<std::int64_t>(text.substr(0, end));
    if (end == text.npos || !size || *size < 0) return std::nullopt;
    sizes[i] = *size;
    if (!last) text.remove_prefix(end + 1);
  }
  return sizes;
}

}  // namespace wm::plan
