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

// Folders for what compilers keep and for their caches, made in the folder of the report; CuTe DSL's may be the user's.
std::vector<std::string> folders_for_compilers(const std::filesystem::path& report);

}  // namespace wm::cli
