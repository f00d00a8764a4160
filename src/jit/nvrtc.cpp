// Finding and opening NVRTC.
#include "jit/nvrtc.hpp"

#include <algorithm>
#include <memory>
#include <mutex>

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include "common/environment.hpp"
#include "warpmill/error.hpp"

namespace wm::jit {
namespace {

namespace fs = std::filesystem;

// The oldest release whose PTX, log and options this code has been tested with.
constexpr int oldest_major = 13;
// Where a library or the headers lie under the root of a toolkit or of a folder that pip installed into.
constexpr const char* library_folders[] = {"", "lib64", "lib", "nvidia/cu13/lib"};

// Files `prefix*` in `folder`, the highest version first.
std::vector<fs::path> files_named(const fs::path& folder, std::string_view prefix) {
  std::vector<fs::path> files;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored))
    if (entry.path().filename().string().starts_with(prefix)) files.push_back(entry.path());
  std::sort(files.rbegin(), files.rend());
  return files;
}

// The folder of the running program and the one of the shared library this code is part of.
std::vector<fs::path> own_folders() {
  std::vector<fs::path> folders;
  std::error_code failed;
  if (const fs::path program = fs::read_symlink("/proc/self/exe", failed); !failed)
    folders.push_back(program.parent_path());
  Dl_info here{};
  if (dladdr(reinterpret_cast<void*>(&nvrtc), &here) && here.dli_fname) {
    const fs::path library = fs::canonical(here.dli_fname, failed);
    if (!failed && (folders.empty() || library.parent_path() != folders.front()))
      folders.push_back(library.parent_path());
  }
  return folders;
}

// Folders that pip may have installed the wheels into.
std::vector<fs::path> wheel_roots() {
  std::vector<fs::path> roots;
  for (const fs::path& folder : own_folders()) {
    roots.push_back(folder.parent_path() / "cuda-wheels");  // build/bin/warpmill, build/cuda-wheels
    roots.push_back(folder.parent_path());  // site-packages/warpmill/libwarpmill.so, site-packages/nvidia
  }
  if (const std::string venv = environment("VIRTUAL_ENV"); !venv.empty())
    for (const fs::path& python : files_named(fs::path(venv) / "lib", "python"))
      roots.push_back(python / "site-packages");
  return roots;
}

std::vector<fs::path> toolkit_roots() {
  std::vector<fs::path> roots;
  for (const char* name : {"CUDA_HOME", "CUDA_PATH"})
    if (const std::string folder = environment(name); !folder.empty()) roots.emplace_back(folder);
  roots.emplace_back("/usr/local/cuda");
  return roots;
}

template <class Function>
void bind(void* library, Function& function, const char* name) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (!function) throw Error(ErrorCode::not_found, fmt::format("it has no {}", name));
}

// NVRTC looks for its builtins by name on the loader's path only. A library of that name that is already in the process
// is taken instead, so they are opened first, by path; which release is wanted is known only to NVRTC, so all there
// are.
void open_builtins(const fs::path& folder) {
  for (const fs::path& file : files_named(folder, "libnvrtc-builtins.so.")) dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
}

std::vector<fs::path> toolkit_headers(const fs::path& library) {
  std::error_code failed;
  std::vector<fs::path> folders{fs::canonical(library, failed).parent_path().parent_path() / "include"};
  for (const fs::path& root : toolkit_roots()) folders.push_back(root / "include");
  for (const fs::path& root : wheel_roots()) folders.push_back(root / "nvidia/cu13/include");
  for (const fs::path& folder : folders)
    if (fs::exists(folder / "cuda_fp16.h", failed)) {
      std::vector<fs::path> found{folder};
      if (fs::exists(folder / "cccl", failed)) found.push_back(folder / "cccl");
      return found;
    }
  return {};
}

Nvrtc bind_all(void* library) {
  Nvrtc found;
  bind(library, found.create_program, "nvrtcCreateProgram");
  bind(library, found.destroy_program, "nvrtcDestroyProgram");
  bind(library, found.add_name_expression, "nvrtcAddNameExpression");
  bind(library, found.compile_program, "nvrtcCompileProgram");
  bind(library, found.lowered_name, "nvrtcGetLoweredName");
  bind(library, found.log_size, "nvrtcGetProgramLogSize");
  bind(library, found.log, "nvrtcGetProgramLog");
  bind(library, found.ptx_size, "nvrtcGetPTXSize");
  bind(library, found.ptx, "nvrtcGetPTX");
  bind(library, found.cubin_size, "nvrtcGetCUBINSize");
  bind(library, found.cubin, "nvrtcGetCUBIN");
  bind(library, found.error_string, "nvrtcGetErrorString");

  decltype(&nvrtcVersion) version;
  bind(library, version, "nvrtcVersion");
  version(&found.major, &found.minor);
  if (found.major < oldest_major)
    throw Error(ErrorCode::not_found,
                fmt::format("it is NVRTC {}.{}; {}.0 or newer is needed", found.major, found.minor, oldest_major));

  decltype(&nvrtcGetNumSupportedArchs) architecture_count;
  decltype(&nvrtcGetSupportedArchs) architectures;
  bind(library, architecture_count, "nvrtcGetNumSupportedArchs");
  bind(library, architectures, "nvrtcGetSupportedArchs");
  int count = 0;
  architecture_count(&count);
  found.architectures.resize(static_cast<std::size_t>(count));
  architectures(found.architectures.data());

  link_map* map = nullptr;
  dlinfo(library, RTLD_DI_LINKMAP, &map);
  found.path = map->l_name;
  std::error_code failed;
  const auto changed = fs::last_write_time(found.path, failed).time_since_epoch().count();
  found.identity = fmt::format("{}.{} {} {}", found.major, found.minor, fs::file_size(found.path, failed), changed);
  found.include_folders = toolkit_headers(found.path);
  return found;
}

// The search. Every place that did not serve leaves a line in `tried`.
class Search {
 public:
  bool file(const std::string& name) {
    void* library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) return refuse(name, dlerror());
    try {
      found = std::make_unique<Nvrtc>(bind_all(library));
      return true;
    } catch (const Error& error) {
      dlclose(library);
      return refuse(name, error.what());
    }
  }

  bool folder(const fs::path& root) {
    bool any = false;
    for (const char* below : library_folders) {
      const fs::path candidate = *below ? root / below : root;
      const auto libraries = files_named(candidate, "libnvrtc.so");
      any = any || !libraries.empty();
      if (libraries.empty()) continue;
      open_builtins(candidate);
      // One of them is as good as another: they are links to one file, except where two releases share a folder.
      for (const fs::path& library : libraries)
        if (file(library.string())) return true;
    }
    return any ? false : refuse(root.string(), "holds no libnvrtc.so");
  }

  bool folders(const std::vector<fs::path>& roots) {
    return std::any_of(roots.begin(), roots.end(), [this](const fs::path& root) { return folder(root); });
  }

  std::unique_ptr<Nvrtc> found;
  std::string tried;

 private:
  bool refuse(const std::string& place, const std::string& reason) {
    tried += reason.starts_with(place) ? fmt::format("\n  {}", reason) : fmt::format("\n  {}: {}", place, reason);
    return false;
  }
};

std::unique_ptr<Nvrtc> search() {
  Search search;
  const std::string forced = environment("WARPMILL_NVRTC");
  std::error_code failed;
  bool done = false;
  if (!forced.empty()) {
    if (fs::is_directory(forced, failed)) {
      done = search.folder(forced);
    } else {
      const fs::path file = fs::absolute(forced, failed);
      open_builtins(file.parent_path());
      done = search.file(file.string());
    }
  } else {
    done = search.folders(toolkit_roots()) || search.file("libnvrtc.so.13") || search.folders(wheel_roots());
  }
  if (done) return std::move(search.found);
  throw Error(
      ErrorCode::not_found,
      fmt::format("no usable NVRTC was found{}. Tried:{}\n"
                  "To get it, install a CUDA 13 toolkit (and set CUDA_HOME if it is not in /usr/local/cuda), or\n"
                  "  pip install --target FOLDER 'nvidia-cuda-nvrtc==13.0.*' 'nvidia-cuda-runtime==13.0.*'\n"
                  "and set WARPMILL_NVRTC=FOLDER.",
                  forced.empty() ? "" : " (only WARPMILL_NVRTC is looked at while it is set)", search.tried));
}

}  // namespace

const Nvrtc& nvrtc() {
  static std::mutex mutex;
  static std::unique_ptr<Nvrtc> opened;
  const std::lock_guard lock(mutex);
  if (!opened) opened = search();
  return *opened;
}

}  // namespace wm::jit
