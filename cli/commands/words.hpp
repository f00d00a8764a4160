// Sizes, times and counts as people read them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "warpmill/virtual.hpp"

namespace wm::cli {

std::string bytes_in_words(std::uint64_t bytes);  // "139.8 GiB"
std::string time_in_words(double milliseconds);   // "12.3 us"
std::string count_in_words(std::uint64_t count);  // "1,234,567"
std::string_view name_of(vgpu::Mode mode);        // "adversarial"

}  // namespace wm::cli
