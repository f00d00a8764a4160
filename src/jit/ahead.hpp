// Compiling ahead: kernels that come with the library, so that their first use compiles nothing.
#pragma once

#include <filesystem>
#include <vector>

#include "warpmill/jit.hpp"

namespace wm::jit {

struct Ahead {
  std::filesystem::path file;
  bool compiled = false;  // now; else it was there
};
// Puts the program into the folder, in the cache's format and without its PTX, unless it is there. Only for programs
// that read no files of the machine, while the environment has no flags for the compiler; lost speed is an error.
Ahead compile_ahead(const Source& source, const Options& options, const std::filesystem::path& folder);

// Removes what was compiled ahead into the folder before and is not among these.
void keep_only(const std::filesystem::path& folder, const std::vector<std::filesystem::path>& files);

}  // namespace wm::jit
