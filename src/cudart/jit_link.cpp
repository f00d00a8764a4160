// nvJitLink's calls. Its header is not everywhere, so that its numbers stand here. Code for optimisation at link time
// only the library itself can read: another copy of it, which nobody has redirected, makes PTX of that.
#include "cudart/jit_link.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include "common/files.hpp"
#include "cudart/failure.hpp"
#include "cudart/fat_binary.hpp"
#include "cudart/linking.hpp"
#include "cudart/module.hpp"
#include "warpmill/error.hpp"

namespace wm::cudart {
namespace {

enum Result {
  success = 0,
  invalid_input = 3,
  ptx_compile_failed = 4,
  internal_error = 6,
  null_input = 10,
  incorrect_input_type = 12
};

// The library's own functions, of another copy of it.
struct Original {
  int (*create)(void**, std::uint32_t, const char**) = nullptr;
  int (*destroy)(void**) = nullptr;
  int (*add_data)(void*, int, const void*, std::size_t, const char*) = nullptr;
  int (*complete)(void*) = nullptr;
  int (*ptx_size)(void*, std::size_t*) = nullptr;
  int (*ptx)(void*, char*) = nullptr;
  int (*log_size)(void*, std::size_t*) = nullptr;
  int (*log)(void*, char*) = nullptr;
};

bool copy_file(int from, int to) {
  for (;;) {
    const ssize_t bytes = ::sendfile(to, from, nullptr, std::size_t{1} << 30);
    if (bytes <= 0) return bytes == 0;
  }
}

// The loader takes a file for another library if it is another file. Null where that fails.
void* open_copy(const std::string& path) {
  const Descriptor from(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  const int copy = ::memfd_create("nvJitLink", MFD_CLOEXEC);
  if (copy < 0) return nullptr;
  void* const library = from >= 0 && copy_file(from, copy)
                            ? dlopen((not_redirected + std::to_string(copy)).c_str(), RTLD_NOW | RTLD_LOCAL)
                            : nullptr;
  if (library == nullptr) ::close(copy);  // else it stays: the loader would take another of its number for this one
  return library;
}

// Throws not_found where there is no such copy.
const Original& original() {
  static const Original functions = [] {
    std::string path;
    dl_iterate_phdr(
        [](dl_phdr_info* object, std::size_t, void* found) {
          const std::string name = object->dlpi_name != nullptr ? object->dlpi_name : "";
          if (name.find("libnvJitLink.so") != name.npos) *static_cast<std::string*>(found) = name;
          return 0;
        },
        &path);
    void* const library = open_copy(path);
    if (library == nullptr)
      throw Error(ErrorCode::not_found, "nvJitLink cannot be loaded a second time, as optimisation at link time needs");
    Original all;
    const auto bind = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
      if (function == nullptr) throw Error(ErrorCode::not_found, path + " has no " + name);
    };
    bind(all.create, "nvJitLinkCreate");
    bind(all.destroy, "nvJitLinkDestroy");
    bind(all.add_data, "nvJitLinkAddData");
    bind(all.complete, "nvJitLinkComplete");
    bind(all.ptx_size, "nvJitLinkGetLinkedPtxSize");
    bind(all.ptx, "nvJitLinkGetLinkedPtx");
    bind(all.log_size, "nvJitLinkGetErrorLogSize");
    bind(all.log, "nvJitLinkGetErrorLog");
    return all;
  }();
  return functions;
}

struct Handle {
  Linking linking;
  void* original = nullptr;  // of the other copy: for optimisation at link time alone
  std::string log;           // of errors

  Handle() = default;
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() {
    if (original != nullptr) cudart::original().destroy(&original);
  }
};

// Of what the caller leaves open.
LinkedKind kind_of_bytes(std::string_view bytes) {
  return bytes.starts_with(
             "\x7f"
             "ELF")
             ? LinkedKind::machine_code
         : is_fat_binary(bytes)                             ? LinkedKind::fat_binary
         : bytes.find(".version") != std::string_view::npos ? LinkedKind::ptx
                                                            : LinkedKind::intermediate;
}

std::optional<LinkedKind> kind_of(int type, std::string_view bytes) {
  switch (type) {
    case 1: return LinkedKind::machine_code;
    case 2: return LinkedKind::ptx;
    case 3: return LinkedKind::intermediate;
    case 4: return LinkedKind::fat_binary;
    case 5: return LinkedKind::machine_code;  // an object
    case 6: return LinkedKind::library;
    case 10: return kind_of_bytes(bytes);
    default: return std::nullopt;
  }
}

// What a call of the linker throws goes to its log.
template <class Call>
int logged(Handle* handle, Result otherwise, const Call& call) noexcept {
  if (handle == nullptr) return null_input;
  try {
    call();
    return success;
  } catch (const Error& error) {
    handle->log += std::string(error.what()) + "\n";
  } catch (const std::exception& error) {
    handle->log += std::string(error.what()) + "\n";
  } catch (const Failure&) {
    handle->log += "a file cannot be read\n";
  }
  return otherwise;
}

// What the other copy says is wrong.
void require_success(Handle& handle, int result) {
  if (result == success) return;
  std::size_t bytes = 0;
  std::string words;
  if (original().log_size(handle.original, &bytes) == success && bytes > 0) {
    words.resize(bytes);
    original().log(handle.original, words.data());
    words.resize(strnlen(words.data(), bytes));
  }
  throw Error(ErrorCode::invalid_argument, words.empty() ? fmt::format("nvJitLink answers {}", result) : words);
}

int create(Handle** handle, std::uint32_t count, const char** options) noexcept {
  if (handle == nullptr || (count > 0 && options == nullptr)) return null_input;
  auto made = std::make_unique<Handle>();
  std::vector<const char*> all(options, options + count);
  if (std::ranges::any_of(all, [](std::string_view option) { return option == "-lto"; })) {
    all.push_back("-ptx");
    const int result = logged(made.get(), invalid_input, [&] {
      const int created = original().create(&made->original, static_cast<std::uint32_t>(all.size()), all.data());
      if (created != success) throw Error(ErrorCode::invalid_argument, fmt::format("nvJitLink answers {}", created));
    });
    if (result != success) tell(made->log);
    if (result != success) return result;
  }
  *handle = made.release();
  return success;
}
int destroy(Handle** handle) {
  if (handle == nullptr || *handle == nullptr) return null_input;
  delete *handle;
  *handle = nullptr;
  return success;
}
int add(Handle* handle, int type, std::string_view bytes, const std::string& name) {
  const std::optional<LinkedKind> kind = kind_of(type, bytes);
  if (!kind) return incorrect_input_type;
  return logged(handle, invalid_input, [&] {
    if (*kind == LinkedKind::intermediate && handle->original != nullptr)
      require_success(*handle, original().add_data(handle->original, type, bytes.data(), bytes.size(), name.c_str()));
    else
      handle->linking.add(*kind, bytes, name);
  });
}
int add_data(Handle* handle, int type, const void* data, std::size_t bytes, const char* name) {
  if (data == nullptr) return null_input;
  return add(handle, type, {static_cast<const char*>(data), bytes}, name != nullptr ? name : "a text");
}
int add_file(Handle* handle, int type, const char* name) {
  if (name == nullptr) return null_input;
  std::string bytes;
  const int read = logged(handle, invalid_input, [&] { bytes = text_of_file(name); });
  return read != success ? read : add(handle, type, bytes, name);
}
int complete(Handle* handle) {
  return logged(handle, ptx_compile_failed, [&] {
    if (handle->original != nullptr) {
      require_success(*handle, original().complete(handle->original));
      std::size_t bytes = 0;
      require_success(*handle, original().ptx_size(handle->original, &bytes));
      std::string text(bytes, '\0');
      require_success(*handle, original().ptx(handle->original, text.data()));
      handle->linking.add(LinkedKind::ptx, {text.data(), strnlen(text.data(), bytes)}, "what was optimised");
    }
    handle->linking.complete();
  });
}

int size_of(const std::string& text, std::size_t* bytes) {
  if (bytes == nullptr) return null_input;
  *bytes = text.size() + 1;
  return success;
}
int copy_of(const std::string& text, char* to) {
  if (to == nullptr) return null_input;
  std::memcpy(to, text.c_str(), text.size() + 1);
  return success;
}
int image_size(const Handle* handle, std::size_t* bytes) {
  return handle == nullptr ? int{null_input} : size_of(handle->linking.image(), bytes);
}
int image(const Handle* handle, char* to) {
  return handle == nullptr ? int{null_input} : copy_of(handle->linking.image(), to);
}
int log_size(const Handle* handle, std::size_t* bytes) {
  return handle == nullptr ? int{null_input} : size_of(handle->log, bytes);
}
int log(const Handle* handle, char* to) { return handle == nullptr ? int{null_input} : copy_of(handle->log, to); }
int no_log_size(const Handle*, std::size_t* bytes) { return size_of({}, bytes); }
int no_log(const Handle*, char* to) { return copy_of({}, to); }
// What there is not here: the linked code for optimisation at link time. A handle of ours means nothing to the library.
int not_there(const Handle*, void*) { return internal_error; }

}  // namespace

const void* jit_link_function(std::string_view name) {
  while (name.starts_with('_')) name.remove_prefix(1);
  if (!name.starts_with("nvJitLink")) return nullptr;
  name = name.substr(std::strlen("nvJitLink"));
  name = name.substr(0, name.find('_'));  // what follows is a version
  static const std::initializer_list<std::pair<std::string_view, const void*>> functions = {
      {"Create", reinterpret_cast<const void*>(&create)},
      {"Destroy", reinterpret_cast<const void*>(&destroy)},
      {"AddData", reinterpret_cast<const void*>(&add_data)},
      {"AddFile", reinterpret_cast<const void*>(&add_file)},
      {"Complete", reinterpret_cast<const void*>(&complete)},
      {"GetLinkedCubinSize", reinterpret_cast<const void*>(&image_size)},
      {"GetLinkedCubin", reinterpret_cast<const void*>(&image)},
      {"GetLinkedPtxSize", reinterpret_cast<const void*>(&image_size)},
      {"GetLinkedPtx", reinterpret_cast<const void*>(&image)},
      {"GetLinkedLTOIRSize", reinterpret_cast<const void*>(&not_there)},
      {"GetLinkedLTOIR", reinterpret_cast<const void*>(&not_there)},
      {"GetErrorLogSize", reinterpret_cast<const void*>(&log_size)},
      {"GetErrorLog", reinterpret_cast<const void*>(&log)},
      {"GetInfoLogSize", reinterpret_cast<const void*>(&no_log_size)},
      {"GetInfoLog", reinterpret_cast<const void*>(&no_log)},
  };
  for (const auto& [own, function] : functions)
    if (own == name) return function;
  return nullptr;
}

}  // namespace wm::cudart
