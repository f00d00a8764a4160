// What the library has to tell that is no error. It prints nothing itself, but for what kernels on the virtual GPU
// print.
#pragma once

#include <functional>
#include <string_view>

#include "warpmill/api.hpp"

namespace wm {

enum class LogSeverity {
  note,     // what took time: a kernel was compiled
  warning,  // it works, but not as it should: the cache cannot be used, a line of the table of plans makes no sense
};

// Called by any thread that has something to tell, several at once perhaps; it must not throw.
using LogFunction = std::function<void(LogSeverity severity, std::string_view text)>;

// Who is told from now on; an empty function, as at the start: nobody.
WARPMILL_API void set_log(LogFunction function);

}  // namespace wm
