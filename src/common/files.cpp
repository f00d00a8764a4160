// Descriptors, signals held off, whole files.
#include "common/files.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include "warpmill/error.hpp"

namespace wm {
namespace {

// A signal may wait while a piece is written, so pieces are small enough for a disk.
constexpr std::size_t largest_piece = std::size_t{16} << 20;

std::string_view kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

template <class Container>
Container read_whole(const std::filesystem::path& file) {
  // Not waiting for the other end of a pipe: it is refused below.
  const Descriptor input(::open(file.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  struct stat status {};
  if (input < 0 || ::fstat(input, &status) != 0) fail_with_file("open", file, errno);
  if (!S_ISREG(status.st_mode))
    throw Error(ErrorCode::io,
                fmt::format("cannot read {}: it is {}, not a file", file.string(), kind_of(status.st_mode)));
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size > physical_memory())
    throw Error(ErrorCode::out_of_memory,
                fmt::format("cannot read {}: it has {} bytes, more than the {} of this machine", file.string(), size,
                            physical_memory()));
  Container contents;
  contents.resize(size);
  std::size_t filled = 0;
  for (;;) {  // a file may grow meanwhile, and those of /proc have no size
    if (filled == contents.size()) contents.resize(filled + 65536);
    const ssize_t got = ::read(input, contents.data() + filled, contents.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_with_file("read", file, errno);
    if (got == 0) break;
    filled += static_cast<std::size_t>(got);
  }
  contents.resize(filled);
  return contents;
}

}  // namespace

void fail_with_file(std::string_view doing, const std::filesystem::path& file, int reason) {
  const auto code = reason == ENOENT ? ErrorCode::not_found : ErrorCode::io;
  throw Error(code, fmt::format("cannot {} {}: {}", doing, file.string(), std::strerror(reason)));
}

SignalsHeldOff::SignalsHeldOff(std::initializer_list<int> further) {
  sigemptyset(&of_writing_);
  for (const int signal : {SIGXFSZ, SIGPIPE}) sigaddset(&of_writing_, signal);
  sigemptyset(&further_);
  for (const int signal : further) sigaddset(&further_, signal);
  sigset_t all = of_writing_;
  for (const int signal : further) sigaddset(&all, signal);
  pthread_sigmask(SIG_BLOCK, &all, &before_);
}

SignalsHeldOff::~SignalsHeldOff() {
  const int error = errno;
  const timespec at_once{};
  for (const int signal : {SIGXFSZ, SIGPIPE}) {
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, signal);
    if (!sigismember(&before_, signal)) sigtimedwait(&one, nullptr, &at_once);
  }
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  errno = error;
}

bool SignalsHeldOff::one_waits() const {
  sigset_t waiting;
  sigpending(&waiting);
  for (int signal = 1; signal < NSIG; ++signal)
    if (sigismember(&further_, signal) == 1 && sigismember(&waiting, signal) == 1) return true;
  return false;
}

int write_all(int file, std::span<const std::byte> bytes, const SignalsHeldOff& signals) {
  while (!bytes.empty()) {
    if (signals.one_waits()) return EINTR;
    const ssize_t done = ::write(file, bytes.data(), std::min(bytes.size(), largest_piece));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return errno;
    bytes = bytes.subspan(static_cast<std::size_t>(done));
  }
  return 0;
}

bool read_all(int file, std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t done = ::read(file, bytes.data(), bytes.size());
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(done));
  }
  return true;
}

std::string read_text(const std::filesystem::path& file) { return read_whole<std::string>(file); }
std::vector<std::byte> read_bytes(const std::filesystem::path& file) {
  return read_whole<std::vector<std::byte>>(file);
}

std::size_t physical_memory() {
  return static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace wm
