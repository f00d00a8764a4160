// Finding functions of our own library by name.
#include "cudart/entry_points.hpp"

#include <string>

#include <dlfcn.h>

#include "cudart/face.hpp"

namespace wm::cudart {
namespace {
// This library, whatever else is loaded.
void* own_library() {
  static void* const handle = [] {
    Dl_info info{};
    dladdr(reinterpret_cast<void*>(&driver_function), &info);
    return dlopen(info.dli_fname, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  }();
  return handle;
}
}  // namespace

void* own_function(const char* name) { return own_library() != nullptr ? dlsym(own_library(), name) : nullptr; }

void* driver_function(const char* name) {
  for (const char* version : {"_v4", "_v3", "_v2", ""})
    if (void* const found = own_function((std::string(name) + version).c_str())) return found;
  return nullptr;
}

}  // namespace wm::cudart
