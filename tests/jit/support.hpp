// What the tests of the JIT share: folders that go away, variables put back, other processes.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "warpmill/architecture.hpp"

namespace wm::jit {

inline constexpr Architecture hopper{9, 0, true};

inline bool holds(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }
inline bool holds(const std::vector<std::byte>& bytes, std::string_view part) {
  return holds(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()), part);
}

// A folder of its own, gone at the end.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "warpmill-jit-XXXXXX").string();
    if (!mkdtemp(name.data())) throw std::runtime_error("no temporary folder could be made");
    path_ = name;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  void write(const std::filesystem::path& name, std::string_view text) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name, std::ios::binary) << text;
  }

 private:
  std::filesystem::path path_;
};

// An environment variable for the length of a scope.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    setenv(name, value.c_str(), 1);
  }
  ~Variable() { before_ ? setenv(name_, before_->c_str(), 1) : unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

struct Ended {
  int status = -1;     // of the exit; -1: a signal
  std::string output;  // stdout and stderr
};
inline Ended run_command(const std::string& command) {
  Ended ended;
  FILE* pipe = popen(("{ " + command + "; } 2>&1").c_str(), "r");
  if (!pipe) return ended;
  char buffer[4096];
  while (const std::size_t size = fread(buffer, 1, sizeof(buffer), pipe)) ended.output.append(buffer, size);
  const int status = pclose(pipe);
  if (WIFEXITED(status)) ended.status = WEXITSTATUS(status);
  return ended;
}
inline std::string in_shell_quotes(const std::filesystem::path& path) { return '\'' + path.string() + '\''; }
// worker.cpp in a process of its own, with `variables` ("A=b C=d") in its environment.
inline Ended run_worker(const std::string& variables, const std::string& arguments) {
  return run_command("env " + variables + " " + in_shell_quotes(WARPMILL_JIT_WORKER) + " " + arguments);
}

}  // namespace wm::jit
