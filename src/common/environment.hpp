// What the environment says: variables, and where a user's files are.
#pragma once

#include <filesystem>
#include <string>

namespace wm {

std::string environment(const char* name);  // empty where it is not set

// The folder `warpmill` in a folder of the XDG base directories: `variable` where it is absolute, else `fallback` in
// the home folder. Empty where there is no home.
std::filesystem::path user_folder(const char* variable, const char* fallback);

}  // namespace wm
