// Where an instruction stands in the source: calls are inlined, so it is a chain of lines.
#pragma once

#include <string>
#include <vector>

#include "vgpu/machine/op.hpp"
#include "vgpu/ptx/module.hpp"

namespace wm::vgpu {

struct SourceLine {
  std::string file;
  u32 line = 0;
};

// The chain around a place whose file is known, from the instruction outwards.
struct SourceLines {
  std::vector<SourceLine> chain;
  std::size_t own = 0;  // the innermost line that the kernel's author wrote, where there is one
};
SourceLines source_lines(const ptx::Module& module, const ptx::Place& place);

}  // namespace wm::vgpu
