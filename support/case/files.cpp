// Writing whole files: beside their place, then renamed into it.
#include "files.hpp"

#include <cerrno>
#include <cstdlib>
#include <string>

#include <fcntl.h>
#include <sys/stat.h>

#include "warpmill/error.hpp"

namespace wm::cases {
namespace {

namespace fs = std::filesystem;

// A new file beside the one that it will replace; gone at the end unless it did. No signal that ends the program comes
// between.
class Replacement {
 public:
  explicit Replacement(const fs::path& file)
      : target_(written_file(file)),
        temporary_(target_.string() + ".XXXXXX"),
        output_(::mkostemp(temporary_.data(), O_CLOEXEC)) {
    if (output_ < 0) fail_with_file("create a file beside", file, errno);
  }
  ~Replacement() {
    if (!temporary_.empty()) ::unlink(temporary_.c_str());
  }
  Replacement(const Replacement&) = delete;
  Replacement& operator=(const Replacement&) = delete;

  // 0, or the reason it failed.
  int write(std::span<const std::span<const std::byte>> parts) {
    const mode_t mask = ::umask(0);
    ::umask(mask);
    ::fchmod(output_, 0666 & ~mask);  // mkostemp makes it private; a plain file follows the umask
    for (const auto part : parts)
      if (const int reason = write_all(output_, part, signals_)) return reason;
    if (output_.close() < 0 || ::rename(temporary_.c_str(), target_.c_str()) < 0) return errno;
    temporary_.clear();
    return 0;
  }

 private:
  const SignalsHeldOff signals_{SIGINT, SIGTERM, SIGHUP, SIGQUIT};  // first and last: they arrive when all is in order
  fs::path target_;
  std::string temporary_;
  Descriptor output_;
};

void write_in_place(const fs::path& file, std::span<const std::span<const std::byte>> parts) {
  // Without waiting, so that a pipe that nobody reads is refused (ENXIO); the writes wait for the reader. Appended,
  // because /dev/stdout may be a file.
  Descriptor output(::open(file.c_str(), O_WRONLY | O_APPEND | O_NONBLOCK | O_CLOEXEC));
  if (output < 0 && errno == ENXIO)
    throw Error(ErrorCode::io, "cannot write " + file.string() + ": nobody reads this pipe");
  if (output < 0) fail_with_file("open", file, errno);
  ::fcntl(output, F_SETFL, ::fcntl(output, F_GETFL) & ~O_NONBLOCK);
  const SignalsHeldOff signals;
  for (const auto part : parts)
    if (const int reason = write_all(output, part, signals)) fail_with_file("write", file, reason);
  if (output.close() < 0) fail_with_file("write", file, errno);
}

}  // namespace

fs::path written_file(const fs::path& file) {
  constexpr int most_links = 40;  // as the system's own limit
  std::error_code failed;
  fs::path path = file;
  for (int links = 0; fs::is_symlink(path, failed); ++links) {
    if (links == most_links) fail_with_file("write", file, ELOOP);
    path = path.parent_path() / fs::read_symlink(path, failed);  // an absolute one replaces what is before it
  }
  const fs::path resolved = fs::weakly_canonical(path, failed);
  return failed ? path : resolved;
}

bool is_replaced(const fs::path& file) {
  std::error_code ignored;
  // /dev/stdout may be a file, but one that the program has open: to replace it would lose what is written there.
  if (fs::absolute(file, ignored).lexically_normal().string().starts_with("/dev/")) return false;
  return !fs::exists(file, ignored) || fs::is_regular_file(file, ignored);
}

void check_writable(const fs::path& file) {
  if (is_replaced(file)) {
    const Replacement probe(file);
    return;
  }
  // Not opened: that alone would wake a pipe's reader.
  if (fs::is_directory(file)) fail_with_file("write", file, EISDIR);
  if (::access(file.c_str(), W_OK) < 0) fail_with_file("write", file, errno);
}

void write_file(const fs::path& file, std::span<const std::span<const std::byte>> parts) {
  if (!is_replaced(file)) return write_in_place(file, parts);
  Replacement replacement(file);
  if (const int reason = replacement.write(parts)) fail_with_file("write", file, reason);
}

void write_file(const fs::path& file, std::span<const std::byte> contents) {
  write_file(file, std::span(&contents, 1));
}

}  // namespace wm::cases
