// The driver's functions by their names, as cuGetProcAddress gives them.
#pragma once

#include <span>
#include <string_view>

namespace wm::cudart {

// What NVIDIA's driver exports, and the version of CUDA that brought it: 12000 is 12.0.
struct DriverName {
  std::string_view name;
  int version = 0;
};
std::span<const DriverName> driver_names();

// The function that a name meant in a version of CUDA ("cuMemAlloc" in 13.0: cuMemAlloc_v2).
struct DriverFunction {
  void* function = nullptr;
  bool came_later = false;  // of none: there is one of this name in a newer version
};
DriverFunction driver_function(std::string_view name, int version, bool per_thread_stream);

void* own_function(const char* name);  // any that this library exports

}  // namespace wm::cudart
