// Texts from files as messages show them.
#pragma once

#include <string>
#include <string_view>

namespace wm::cases {

// What a terminal would act on shown as \x1b or \u202e: control characters, bytes that are no UTF-8, characters that
// turn the direction of a text around. Line ends and tabs stay.
std::string printable(std::string_view text);

}  // namespace wm::cases
