// A caller's own expression, compiled into a kernel.
#pragma once

#include <string_view>

namespace wm::ops {

// Why `text` cannot be one C++ expression, however it goes on: brackets that do not match, or a semicolon outside of
// them. Empty where nothing is wrong; whether it compiles is the compiler's to say.
std::string_view expression_problem(std::string_view text);

}  // namespace wm::ops
