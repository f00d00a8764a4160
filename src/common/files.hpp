// Files as the system has them: descriptors that close themselves, and reads and writes that do all they were asked
// for.
#pragma once

#include <csignal>
#include <cstddef>
#include <filesystem>
#include <initializer_list>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

namespace wm {

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  operator int() const { return number_; }
  // Some file systems report a full disk only here.
  int close() { return ::close(std::exchange(number_, -1)); }

 private:
  int number_;
};

// Keeps signals from this thread. Of those that came meanwhile, the ones that a failed write raises are dropped at the
// end, because its error says as much (past RLIMIT_FSIZE: SIGXFSZ, EFBIG; a pipe without a reader: SIGPIPE, EPIPE); the
// others arrive then.
class SignalsHeldOff {
 public:
  explicit SignalsHeldOff(std::initializer_list<int> further = {});
  ~SignalsHeldOff();
  SignalsHeldOff(const SignalsHeldOff&) = delete;
  SignalsHeldOff& operator=(const SignalsHeldOff&) = delete;

  bool one_waits() const;  // of `further`

 private:
  sigset_t of_writing_{}, further_{}, before_{};
};

// 0, or the reason it failed. Raises no signal. Ends with EINTR where `signals` has one waiting.
int write_all(int file, std::span<const std::byte> bytes, const SignalsHeldOff& signals);
bool read_all(int file, std::span<std::byte> bytes);  // false where it failed or ended before

// The whole of a regular file. Throws not_found or io with the system's reason, and refuses what has no end (a device),
// never comes (a pipe), or is more than this machine's memory.
std::string read_text(const std::filesystem::path& file);
std::vector<std::byte> read_bytes(const std::filesystem::path& file);

std::size_t physical_memory();  // of this machine, in bytes

// Throws not_found or io: "cannot open x: No such file or directory".
[[noreturn]] void fail_with_file(std::string_view doing, const std::filesystem::path& file, int reason);

}  // namespace wm
