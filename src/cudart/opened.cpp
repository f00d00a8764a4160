// libcuda.so.1 is a name for what libcudart.so.13 holds; and, being loaded before the program, it follows what dlopen
// brings: a plugin may have CUDA's static runtime inside.
#include <algorithm>
#include <cstring>
#include <string>

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

extern "C" void warpmill_redirect_opened();

namespace {

using Open = void* (*)(const char*, int);

// A name without a folder is also looked for where the caller says (its RUNPATH or RPATH), and to the loader the caller
// is now this library.
std::string found_by(const void* caller, const char* name) {
  Dl_info info{};
  link_map* map = nullptr;
  if (dladdr1(caller, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) == 0 || map == nullptr) return {};
  const char* strings = nullptr;
  for (const auto* entry = map->l_ld; entry->d_tag != DT_NULL; ++entry)
    if (entry->d_tag == DT_STRTAB) strings = reinterpret_cast<const char*>(entry->d_un.d_ptr);
  std::string own = info.dli_fname;
  own.resize(own.rfind('/') == own.npos ? 0 : own.rfind('/'));
  for (const auto* entry = map->l_ld; strings != nullptr && entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag != DT_RUNPATH && entry->d_tag != DT_RPATH) continue;
    const std::string folders = strings + entry->d_un.d_val;
    for (std::size_t at = 0, end = 0; at <= folders.size(); at = end + 1) {
      end = std::min(folders.find(':', at), folders.size());
      std::string folder = folders.substr(at, end - at);
      for (const char* origin : {"$ORIGIN", "${ORIGIN}"})
        if (const auto place = folder.find(origin); place != folder.npos)
          folder.replace(place, std::strlen(origin), own.empty() ? "." : own);
      const std::string path = folder + "/" + name;
      if (!folder.empty() && ::access(path.c_str(), R_OK) == 0) return path;
    }
  }
  return {};
}

}  // namespace

extern "C" __attribute__((visibility("default"))) void* dlopen(const char* name, int flags) {
  static const auto next = reinterpret_cast<Open>(dlsym(RTLD_NEXT, "dlopen"));
  void* handle = next(name, flags);
  if (handle == nullptr && name != nullptr && std::strchr(name, '/') == nullptr)
    if (const std::string path = found_by(__builtin_return_address(0), name); !path.empty())
      handle = next(path.c_str(), flags);
  if (handle != nullptr && (flags & RTLD_NOLOAD) == 0) warpmill_redirect_opened();
  return handle;
}
