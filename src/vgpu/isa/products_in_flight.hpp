// What the assembler makes of registers that a wgmma still writes.
#pragma once

#include <vector>

#include "vgpu/ptx/module.hpp"

namespace wm::vgpu::isa {

// For each instruction of a function whether it touches an accumulator of a wgmma that no wgmma.wait_group has come
// behind, on some way to it. There ptxas puts a wait in (and says so, C7517), so that the value is right; behind any
// wait, also one that leaves the product in flight, it does not. Empty where the function has no wgmma.
std::vector<bool> touches_product_in_flight(const ptx::Function& function);

}  // namespace wm::vgpu::isa
