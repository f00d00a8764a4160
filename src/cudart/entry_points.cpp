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
    dladdr(reinterpret_cast<void*>(&own_library), &info);
    return dlopen(info.dli_fname, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  }();
  return handle;
}
}  // namespace

void* own_function(const char* name) { return own_library() != nullptr ? dlsym(own_library(), name) : nullptr; }

DriverFunction driver_function(std::string_view name, int version, bool per_thread_stream) {
  const DriverName* best = nullptr;
  bool came_later = false;
  for (const DriverName& one : driver_names()) {
    if (!one.name.starts_with(name)) continue;
    std::string_view rest = one.name.substr(name.size());
    const bool of_thread = rest.ends_with("_ptsz") || rest.ends_with("_ptds");
    if (of_thread) rest.remove_suffix(5);
    if (!rest.empty() && !rest.starts_with("_v")) continue;
    if (of_thread && !per_thread_stream) continue;
    if (one.version > version)
      came_later = true;
    else if (best == nullptr || one.version >= best->version)
      best = &one;
  }
  if (best == nullptr) return {nullptr, came_later};
  return {own_function(std::string(best->name).c_str()), false};
}

}  // namespace wm::cudart
