// Machine code whose PTX its compiler left behind: files of a folder, found by the names of their kernels.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace wm::cudart {

// Of a cubin. Empty where no file of the folders has all its kernels; of several the newest.
std::string kept_ptx(std::string_view cubin, const std::vector<std::string>& folders);

}  // namespace wm::cudart
