// Starting, reading and ending a worker process.
#include "commands/worker.hpp"

#include <cerrno>
#include <csignal>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "warpmill/error.hpp"

extern char** environ;

namespace wm::cli {
namespace {

[[noreturn]] void fail(const std::string& program, int reason) {
  throw Error(ErrorCode::io, fmt::format("cannot start {}: {}", program, std::strerror(reason)));
}

pid_t start(const std::vector<std::string>& command, int output) {
  std::vector<char*> arguments;
  for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  pid_t process = -1;
  const int reason = posix_spawnp(&process, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(output);
  if (reason != 0) fail(command[0], reason);
  return process;
}

// Hands the whole lines of `text` on; the rest stays.
void take_lines(std::string& text, const std::function<void(std::string_view)>& line) {
  std::size_t begin = 0;
  for (std::size_t end; (end = text.find('\n', begin)) != text.npos; begin = end + 1)
    line(std::string_view(text).substr(begin, end - begin));
  text.erase(0, begin);
}

}  // namespace

WorkerEnd run_worker(const std::vector<std::string>& command, std::chrono::milliseconds longest_silence,
                     const std::function<void(std::string_view)>& line) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) fail(command[0], errno);
  struct Reader {
    int descriptor;
    ~Reader() { ::close(descriptor); }
  } const reader{ends[0]};
  const pid_t process = start(command, ends[1]);

  WorkerEnd end;
  std::string text;
  char piece[4096];
  for (bool open = true; open;) {
    pollfd waiting{reader.descriptor, POLLIN, 0};
    const int ready = ::poll(&waiting, 1, static_cast<int>(longest_silence.count()));
    if (ready < 0 && errno == EINTR) continue;
    const ssize_t got = ready > 0 ? ::read(reader.descriptor, piece, sizeof(piece)) : -1;
    if (got > 0) {
      text.append(piece, static_cast<std::size_t>(got));
      take_lines(text, line);
    } else {
      open = false;
      end.silent = ready == 0;
    }
  }
  if (end.silent) ::kill(process, SIGKILL);
  if (!text.empty()) line(text);
  int status = 0;
  while (::waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  end.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return end;
}

}  // namespace wm::cli
