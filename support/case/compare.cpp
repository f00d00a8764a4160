// Comparing two dense arrays.
#include "compare.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "fill.hpp"

namespace wm::cases {
namespace {

constexpr std::size_t mismatches_shown = 5;

// An integer of any dtype, wide enough for all of them.
__int128 whole(DType dtype, const std::byte* element) {
  switch (dtype) {
    case DType::u64: {
      std::uint64_t value = 0;
      std::memcpy(&value, element, sizeof value);
      return value;
    }
    case DType::i64: {
      std::int64_t value = 0;
      std::memcpy(&value, element, sizeof value);
      return value;
    }
    default: return static_cast<std::int64_t>(load_element(dtype, element));
  }
}

std::string in_words(DType dtype, const std::byte* element) {
  if (is_floating(dtype)) return fmt::format("{:.9g}", load_element(dtype, element));
  const __int128 value = whole(dtype, element);
  return value < 0 ? fmt::format("{}", static_cast<std::int64_t>(value))
                   : fmt::format("{}", static_cast<std::uint64_t>(value));
}

}  // namespace

Comparison compare(const Layout& layout, std::span<const std::byte> result, DType expected_dtype,
                   std::span<const std::byte> expected, const Tolerance& tolerance, const Tell& tell) {
  const bool integers = !is_floating(layout.dtype) && !is_floating(expected_dtype);
  const std::size_t width = size_of(layout.dtype), expected_width = size_of(expected_dtype);
  Comparison comparison;
  comparison.elements = layout.elements;
  const Steps steps(tell, "elements compared", layout.elements);
  for (std::size_t i = 0; i < layout.elements; ++i) {
    steps.at(i);
    const std::byte* a = result.data() + i * width;
    const std::byte* b = expected.data() + i * expected_width;
    double value = 0, wanted = 0, difference = 0;
    bool equal = false;
    if (integers) {
      const __int128 x = whole(layout.dtype, a), y = whole(expected_dtype, b);
      equal = x == y;
      wanted = static_cast<double>(y);
      difference = static_cast<double>(x > y ? x - y : y - x);
    } else {
      value = load_element(layout.dtype, a);
      wanted = load_element(expected_dtype, b);
      difference = std::fabs(value - wanted);
      equal = value == wanted || (tolerance.nan_equal && std::isnan(value) && std::isnan(wanted));
    }
    if (std::isfinite(difference) && std::isfinite(wanted)) {
      comparison.largest_absolute = std::max(comparison.largest_absolute, difference);
      if (wanted != 0)
        comparison.largest_relative = std::max(comparison.largest_relative, difference / std::fabs(wanted));
      equal = equal || difference <= tolerance.absolute + tolerance.relative * std::fabs(wanted);
    }
    if (equal) continue;
    if (comparison.mismatches++ < mismatches_shown)
      comparison.first.push_back({coordinates(layout, i), in_words(layout.dtype, a), in_words(expected_dtype, b)});
  }
  return comparison;
}

}  // namespace wm::cases
