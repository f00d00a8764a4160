// Compiling ahead: kernels that come with the library, so that their first use compiles nothing.
#pragma once

#include <filesystem>

#include "warpmill/jit.hpp"

namespace wm::jit {

// Puts the program into the folder, in the cache's format, unless it is there. Only for programs that read no files of
// the machine. Says whether it compiled.
bool compile_ahead(const Source& source, const Options& options, const std::filesystem::path& folder);

}  // namespace wm::jit
