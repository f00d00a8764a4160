// Reading and atomically writing whole files.
#include "files.hpp"

#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "warpmill/error.hpp"

namespace wm::cases {
namespace {

[[noreturn]] void fail(std::string_view doing, const std::filesystem::path& file, int reason) {
  const auto code = reason == ENOENT ? ErrorCode::not_found : ErrorCode::io;
  throw Error(code, fmt::format("cannot {} {}: {}", doing, file.string(), std::strerror(reason)));
}

class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  ~Descriptor() {
    if (value_ >= 0) ::close(value_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return value_; }
  // Some file systems report a full disk only here.
  int close() { return ::close(std::exchange(value_, -1)); }

 private:
  int value_;
};

template <class Container>
Container read_whole(const std::filesystem::path& file) {
  const Descriptor input(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (input.get() < 0) fail("open", file, errno);
  Container contents;
  std::size_t filled = 0;
  struct stat status {};
  if (::fstat(input.get(), &status) == 0 && S_ISREG(status.st_mode)) contents.resize(status.st_size);
  for (;;) {
    if (filled == contents.size()) contents.resize(filled + 65536);
    const ssize_t got = ::read(input.get(), contents.data() + filled, contents.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail("read", file, errno);
    if (got == 0) break;
    filled += static_cast<std::size_t>(got);
  }
  contents.resize(filled);
  return contents;
}

// 0, or the reason it failed.
int write_whole(int descriptor, std::span<const std::byte> contents) {
  while (!contents.empty()) {
    const ssize_t done = ::write(descriptor, contents.data(), contents.size());
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return errno;
    contents = contents.subspan(static_cast<std::size_t>(done));
  }
  return 0;
}

// A pipe or a device cannot be replaced by a new file: it is written in place.
bool in_place(const std::filesystem::path& file) {
  std::error_code ignored;
  return std::filesystem::exists(file, ignored) && !std::filesystem::is_regular_file(file, ignored);
}

// A new file beside the one that it will replace. A symbolic link stays a link: its target is replaced.
struct Replacement {
  explicit Replacement(const std::filesystem::path& file)
      : target(resolved(file)),
        temporary(target.string() + ".XXXXXX"),
        output(::mkostemp(temporary.data(), O_CLOEXEC)) {
    if (output.get() < 0) fail("create a file beside", file, errno);
  }
  std::filesystem::path target;
  std::string temporary;
  Descriptor output;

 private:
  static std::filesystem::path resolved(const std::filesystem::path& file) {
    std::error_code failed;
    const auto path = std::filesystem::weakly_canonical(file, failed);
    return failed ? file : path;
  }
};

int write_parts(Descriptor& output, std::span<const std::span<const std::byte>> parts) {
  for (const auto part : parts)
    if (const int reason = write_whole(output.get(), part)) return reason;
  return output.close() < 0 ? errno : 0;
}

}  // namespace

std::string read_text(const std::filesystem::path& file) { return read_whole<std::string>(file); }
std::vector<std::byte> read_bytes(const std::filesystem::path& file) {
  return read_whole<std::vector<std::byte>>(file);
}

void check_writable(const std::filesystem::path& file) {
  if (in_place(file)) {  // not opened: that alone would wake a pipe's reader
    if (std::filesystem::is_directory(file)) fail("write", file, EISDIR);
    if (::access(file.c_str(), W_OK) < 0) fail("write", file, errno);
    return;
  }
  const Replacement probe(file);
  ::unlink(probe.temporary.c_str());
}

void write_file(const std::filesystem::path& file, std::span<const std::span<const std::byte>> parts) {
  if (in_place(file)) {
    Descriptor output(::open(file.c_str(), O_WRONLY | O_CLOEXEC));
    if (output.get() < 0) fail("open", file, errno);
    if (const int reason = write_parts(output, parts)) fail("write", file, reason);
    return;
  }
  Replacement replacement(file);
  const mode_t mask = ::umask(0);
  ::umask(mask);
  ::fchmod(replacement.output.get(), 0666 & ~mask);  // mkostemp makes it private; a plain file follows the umask
  int reason = write_parts(replacement.output, parts);
  if (reason == 0 && ::rename(replacement.temporary.c_str(), replacement.target.c_str()) < 0) reason = errno;
  if (reason != 0) {
    ::unlink(replacement.temporary.c_str());
    fail("write", file, reason);
  }
}

void write_file(const std::filesystem::path& file, std::span<const std::byte> contents) {
  write_file(file, std::span(&contents, 1));
}

}  // namespace wm::cases
