// How the library tells: through the function that the caller has set.
#pragma once

#include <string_view>

#include "warpmill/log.hpp"

namespace wm {

void log(LogSeverity severity, std::string_view text);

}  // namespace wm
