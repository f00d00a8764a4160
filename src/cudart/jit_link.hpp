// nvJitLink, which makes machine code of PTX: ours answers in its place, and hands out PTX.
#pragma once

#include <string>
#include <string_view>

namespace wm::cudart {

// How names of objects begin that keep their own functions.
inline const std::string not_redirected = "/proc/self/fd/";

// Of a name as the library exports it ("__nvJitLinkCreate_13_0"); null where there is none.
const void* jit_link_function(std::string_view name);

}  // namespace wm::cudart
