// How close an instruction's results are to the chip's.
#pragma once

#include <string>

namespace wm::vgpu::ptx {
struct Instruction;
}

namespace wm::vgpu {

// The greatest distance from the chip's result, in words; empty where every bit is the same. `chip_sums` as in
// RunOptions. docs/fidelity.md says how the bounds were found.
std::string bound_of(const ptx::Instruction& instruction, bool chip_sums);

}  // namespace wm::vgpu
