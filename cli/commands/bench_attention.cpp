// warpmill bench attention: starts bench_attention.py, which measures beside PyTorch's cuDNN.
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include <fmt/format.h>
#include <unistd.h>

#include "commands/commands.hpp"
#include "warpmill/error.hpp"

namespace wm::cli {
namespace {

namespace fs = std::filesystem;

// Beside the program, as the build leaves it, or where an installation keeps it.
fs::path part(const char* name) {
  const fs::path program = fs::read_symlink("/proc/self/exe").parent_path();
  for (const fs::path& file : {program / name, program.parent_path() / "lib" / "warpmill" / name})
    if (fs::exists(file)) return file;
  throw Error(ErrorCode::not_found,
              fmt::format("{} is not in {}: build it with `make`, which puts it there", name, program.string()));
}

}  // namespace

int bench_attention(const BenchAttentionCommand& command) {
  std::vector<std::string> words{"python3", part("bench_attention.py").string(),
                                 part("libbench_attention.so").string()};
  words.insert(words.end(), command.arguments.begin(), command.arguments.end());
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::execvp(arguments[0], arguments.data());
  throw Error(ErrorCode::not_found,
              fmt::format("cannot start python3 ({}): the measurement beside cuDNN is a Python script with PyTorch",
                          std::strerror(errno)));
}

}  // namespace wm::cli
