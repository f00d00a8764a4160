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

#include "common/files.hpp"
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

// Ended and waited for at the end, if it was not before.
class Process {
 public:
  explicit Process(pid_t number) : number_(number) {}
  ~Process() {
    if (number_ < 0) return;
    kill(SIGKILL);
    wait();
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  void kill(int signal) const { ::kill(number_, signal); }
  int wait() {
    int status = 0;
    while (::waitpid(number_, &status, 0) < 0 && errno == EINTR) {
    }
    number_ = -1;
    return status;
  }

 private:
  pid_t number_;
};

// Hands the whole lines of `text` on; the rest stays.
void take_lines(std::string& text, const std::function<void(std::string_view)>& line) {
  std::size_t begin = 0;
  for (std::size_t end; (end = text.find('\n', begin)) != text.npos; begin = end + 1)
    line(std::string_view(text).substr(begin, end - begin));
  text.erase(0, begin);
}

}  // namespace

WorkerEnd run_worker(const std::vector<std::string>& command, std::chrono::milliseconds longest_silence,
                     const std::function<void(std::string_view)>& line, const std::function<void()>& wait) {
  using Clock = std::chrono::steady_clock;
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) fail(command[0], errno);
  const Descriptor reader(ends[0]);
  Process process(start(command, ends[1]));

  WorkerEnd end;
  std::string text;
  char piece[4096];
  auto heard = Clock::now();
  for (bool open = true; open;) {
    wait();
    pollfd waiting{reader, POLLIN, 0};
    const int ready = ::poll(&waiting, 1, 200);
    if (ready > 0) {
      const ssize_t got = ::read(reader, piece, sizeof(piece));
      open = got > 0;
      heard = Clock::now();
      if (got > 0) text.append(piece, static_cast<std::size_t>(got));
      take_lines(text, line);
    } else if (Clock::now() - heard > longest_silence) {
      open = false;
      end.silent = true;
    }
  }
  if (end.silent) process.kill(SIGKILL);
  if (!text.empty()) line(text);
  const int status = process.wait();
  end.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return end;
}

}  // namespace wm::cli
