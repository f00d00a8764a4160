// What a program finds in its environment: our libraries before all others, and what makes other people's compilers
// leave PTX behind.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cudart/settings.hpp"

namespace wm::cli {

// "NAME=value": what is there already, and ours. Throws not_found where our libraries are not.
std::vector<std::string> environment_of_program(const cudart::Settings& settings);

// Where PTX of machine code is looked for: in these folders, then where CuTe DSL is told to keep it. Throws not_found.
std::vector<std::string> ptx_folders(const std::vector<std::filesystem::path>& named,
                                     const std::filesystem::path& report);

}  // namespace wm::cli
