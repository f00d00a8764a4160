// Fat binaries, as nvcc puts them into a program: PTX and machine code for several architectures.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "warpmill/architecture.hpp"

namespace wm::cudart {

// What an image holds for a device: the newest PTX that runs there.
struct DeviceCode {
  std::string ptx;
  std::string problem;  // why there is none, in words, and what to do
};

// `image`: a fat binary, its wrapper, PTX text or an ELF image, as cuModuleLoadData takes them.
DeviceCode device_code(const void* image, const Architecture& device);

}  // namespace wm::cudart
