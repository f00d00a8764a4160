// The one exception type of the library. The message says what was asked, why it was refused and what to do.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace wm {

enum class ErrorCode {
  invalid_argument,  // the request itself is wrong: shapes, dtypes, addresses, a case file
  unsupported,       // a right request that this device, compiler or build cannot serve
  not_found,         // a file, device, kernel, library that is not there
  out_of_memory,
  compile,    // the kernel's source or PTX was refused
  launch,     // the launch was refused
  execution,  // the kernel ran and failed: a trap, a bad address, a deadlock
  stopped,    // the caller asked for its end
  io,         // the file system
  internal,   // a bug here
};

std::string_view name_of(ErrorCode code);

class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ErrorCode code() const { return code_; }

 private:
  ErrorCode code_;
};

}  // namespace wm
