// The environment of `run PROGRAM` and `check PROGRAM`.
#include "program_environment.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "common/environment.hpp"
#include "warpmill/error.hpp"

extern char** environ;

namespace wm::cli {
namespace {

namespace fs = std::filesystem;

// Where our libcudart.so.13 and libcuda.so.1 lie, from the program's own place: beside it in the Python package.
fs::path runtime_folder() {
  const fs::path own = fs::read_symlink("/proc/self/exe").parent_path();
  const fs::path packed = own / "warpmill-runtime";
  const fs::path folder = fs::exists(packed) ? packed : (own / WARPMILL_RUNTIME_FOLDER).lexically_normal();
  for (const char* library : {"libcudart.so.13", "libcuda.so.1"})
    if (!fs::exists(folder / library))
      throw Error(ErrorCode::not_found,
                  fmt::format("{} is not there: build or install all of Warpmill", (folder / library).string()));
  if (folder.string().find_first_of(": ") != std::string::npos)
    throw Error(
        ErrorCode::unsupported,
        fmt::format("the loader cannot take libraries from '{}': its name has a colon or a blank; move Warpmill",
                    folder.string()));
  return folder;
}

// Before what is there already.
std::string put_before(const std::string& first, const char* variable) {
  const std::string before = environment(variable);
  return before.empty() ? first : first + ":" + before;
}

std::string or_else(const char* variable, const char* otherwise) {
  const std::string own = environment(variable);
  return own.empty() ? otherwise : own;
}

// What CuTe DSL is to keep, and where.
constexpr const char *kept = "CUTE_DSL_KEEP", *kept_in = "CUTE_DSL_DUMP_DIR";
std::string kept_with_ptx() {
  std::string own = environment(kept);
  if (own == "all") return own;
  for (const char* one : {"ptx", "cubin"})
    if (own.find(one) == own.npos) own += (own.empty() ? "" : ",") + std::string(one);
  return own;
}

}  // namespace

std::vector<std::string> folders_for_compilers(const fs::path& report) {
  fs::path own = environment(kept_in);
  if (own.empty()) own = report / "cute";
  std::vector<std::string> folders;
  for (const fs::path& folder : {own, report / "triton"}) {
    std::error_code error;
    fs::create_directories(folder, error);
    if (error)
      throw Error(ErrorCode::io, fmt::format("cannot make the folder {}: {}", folder.string(), error.message()));
    folders.push_back(fs::absolute(folder).string());
  }
  return folders;
}

std::vector<std::string> environment_of_program(const cudart::Settings& settings) {
  const fs::path folder = runtime_folder();
  const std::string preload = (folder / "libcudart.so.13").string() + ":" + (folder / "libcuda.so.1").string();
  const std::vector<std::pair<std::string, std::string>> ours = {
      {"LD_PRELOAD", put_before(preload, "LD_PRELOAD")},
      {"LD_LIBRARY_PATH", put_before(folder.string(), "LD_LIBRARY_PATH")},
      {cudart::settings_variable, cudart::to_text(settings)},
      {"PYTHONPATH", put_before((folder / "python").string(), "PYTHONPATH")},
      // CuTe DSL hands out machine code.
      {kept, kept_with_ptx()},
      {kept_in, settings.kept[0]},
      {"CUTE_DSL_KEEP_PTX", "1"},  // its older words
      {"CUTE_DSL_KEEP_CUBIN", "1"},
      {"CUTE_DSL_LINEINFO", or_else("CUTE_DSL_LINEINFO", "1")},
      // Triton does too, and keeps everything.
      {"TRITON_CACHE_DIR", settings.kept[1]},
      {"TRITON_LIBCUDA_PATH", folder.string()},
      // What others would keep for other runs is of this one alone: it was compiled for another chip, or is PTX.
      {"TORCHINDUCTOR_CACHE_DIR", (fs::path(settings.report) / "inductor").string()},
      {"NUMBA_CACHE_DIR", (fs::path(settings.report) / "numba").string()},
      {"QUACK_CACHE_ENABLED", "0"},
      {"CUPY_CACHE_IN_MEMORY", "1"},
      // CuPy would sum by kernels of CUB that it has as machine code alone.
      {"CUPY_ACCELERATORS", ""},
  };
  std::vector<std::string> variables;
  for (char** at = environ; *at != nullptr; ++at) {
    const std::string_view variable = *at;
    if (std::ranges::none_of(ours, [&](const auto& own) { return variable.starts_with(own.first + "="); }))
      variables.emplace_back(variable);
  }
  for (const auto& [name, value] : ours) variables.push_back(name + "=" + value);
  return variables;
}

}  // namespace wm::cli
