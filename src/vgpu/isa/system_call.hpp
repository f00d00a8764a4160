// Functions that a module declares and the system provides: vprintf, __assertfail, malloc, free.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "vgpu/machine/warp.hpp"

namespace wm::vgpu {

// Runs for one lane; `arguments` are the bytes of each.
using SystemCall = u64 (*)(Warp& warp, u32 lane, const std::vector<std::byte*>& arguments);
SystemCall system_call(std::string_view name);  // null where there is none
// Whether a module's declaration of it has the parameters that it has.
bool system_call_fits(std::string_view name, const ptx::Function& declaration);

}  // namespace wm::vgpu
