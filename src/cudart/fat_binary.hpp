// Fat binaries, as nvcc puts them into a program: PTX and machine code for several architectures.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "warpmill/architecture.hpp"

namespace wm::cudart {

// What an image holds for a device: the newest PTX that runs there.
struct DeviceCode {
  std::string ptx;
  std::string problem;       // why there is none, in words, and what to do
  std::string machine_code;  // what there is instead: a cubin, the last of several; else empty
};

bool is_fat_binary(std::string_view bytes);  // whole, as its header says

// `image`: a fat binary, its wrapper, PTX text or an ELF image, as cuModuleLoadData takes them. How long it is says it
// itself; `most` where somebody knows better, as of a file.
inline constexpr std::size_t any_length = ~std::size_t{0};
DeviceCode device_code(const void* image, const Architecture& device, std::size_t most = any_length);

}  // namespace wm::cudart
