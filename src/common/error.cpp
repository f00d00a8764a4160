// Names of the error codes.
#include "warpmill/error.hpp"

namespace wm {

std::string_view name_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_argument: return "invalid argument";
    case ErrorCode::unsupported: return "unsupported";
    case ErrorCode::not_found: return "not found";
    case ErrorCode::out_of_memory: return "out of memory";
    case ErrorCode::compile: return "compile error";
    case ErrorCode::launch: return "launch refused";
    case ErrorCode::execution: return "execution failed";
    case ErrorCode::stopped: return "stopped";
    case ErrorCode::io: return "input/output error";
    case ErrorCode::internal: return "internal error";
  }
  return "unknown error";
}

}  // namespace wm
