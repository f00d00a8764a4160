// Which line of a chain of inlined calls is the author's own.
#include "vgpu/machine/source_lines.hpp"

#include <algorithm>
#include <string_view>

namespace wm::vgpu {
namespace {

// How much of the kernel's author there is in a line: the library's wrappers of single instructions, its building
// blocks, its own kernels, everybody else's code.
int authorship(const SourceLine& line) {
  if (!line.file.starts_with("warpmill/") && line.file.find("kernels/warpmill/") == line.file.npos) return 3;
  const auto in = [&](std::string_view folder) { return line.file.find(folder) != line.file.npos; };
  return in("warpmill/ptx/") ? 0 : in("warpmill/pipeline/") || in("warpmill/tile/") ? 1 : 2;
}

}  // namespace

SourceLines source_lines(const ptx::Module& module, const ptx::Place& place) {
  SourceLines lines;
  for (const ptx::Place* at = &place; at != nullptr;
       at = at->inlined_at < 0 ? nullptr : &module.inline_sites[static_cast<std::size_t>(at->inlined_at)].at)
    lines.chain.push_back({module.files[at->file], at->line});
  const auto own = std::max_element(lines.chain.begin(), lines.chain.end(),
                                    [](const auto& a, const auto& b) { return authorship(a) < authorship(b); });
  lines.own = static_cast<std::size_t>(own - lines.chain.begin());
  return lines;
}

}  // namespace wm::vgpu
