// Sizes, times and counts as text.
#include "words.hpp"

#include <cmath>

#include <fmt/format.h>

namespace wm::cli {

std::string bytes_in_words(std::uint64_t bytes) {
  static constexpr const char* units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024) return fmt::format("{} bytes", bytes);
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(units); ++unit) value /= 1024;
  return fmt::format("{:.1f} {}", value, units[unit]);
}

std::string time_in_words(double milliseconds) {
  if (milliseconds < 1) return fmt::format("{:.1f} us", milliseconds * 1000);
  if (milliseconds < 1000) return fmt::format("{:.2f} ms", milliseconds);
  return fmt::format("{:.2f} s", milliseconds / 1000);
}

std::string count_in_words(std::uint64_t count) {
  std::string digits = fmt::format("{}", count);
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3)
    digits.insert(static_cast<std::size_t>(at), 1, ',');
  return digits;
}

std::string_view name_of(vgpu::Mode mode) {
  switch (mode) {
    case vgpu::Mode::friendly: return "friendly";
    case vgpu::Mode::random: return "random";
    case vgpu::Mode::adversarial: return "adversarial";
  }
  return "";
}

}  // namespace wm::cli
